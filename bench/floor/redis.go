package main

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// sessionScript reads a session and its user in one round trip.
const sessionScript = `local s = redis.call('HMGET', KEYS[1], 'user', 'expires')
if not s[1] then return {} end
local u = redis.call('HMGET', '{authsvc}:user:' .. s[1], 'name', 'email', 'image')
return {s[2], s[1], u[1], u[2], u[3]}`

func oneScriptRedis(ctx context.Context, location string) (http.Handler, error) {
	o, err := redis.ParseURL(location)
	if err != nil {
		return nil, err
	}
	client := redis.NewClient(o)
	digest, err := client.ScriptLoad(ctx, sessionScript).Result()
	if err != nil {
		return nil, err
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got, err := client.EvalSha(r.Context(), digest, []string{"{authsvc}:session:" + tokenOf(r)}).StringSlice()
		if err != nil || len(got) != 5 {
			writeJSON(w, []byte("{}"))
			return
		}
		expires, _ := strconv.ParseInt(got[0], 10, 64)
		writeSession(w, sessionUser{ID: got[1], Name: &got[2], Email: &got[3], Image: &got[4]}, time.UnixMilli(expires))
	}), nil
}
