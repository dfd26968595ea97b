package redis

import (
	"errors"
	"net/url"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// dialTimeout limits the time to connect; an earlier deadline of the context takes
// precedence.
const dialTimeout = 2 * time.Second

// ioTimeout limits the time of one command; an earlier deadline of the context takes
// precedence. Tests raise it, since their machine may be busy.
var ioTimeout = 3 * time.Second

// errURL does not quote the URL: any part of it may belong to the password.
var errURL = errors.New("redis: cannot use the URL: write redis://user:password@host:port/database, rediss://… or " +
	"unix:///path?db=number, with special characters of the password as %XX, and without other parameters")

// CheckURL returns an error if Open would refuse the URL. It makes no connection.
func CheckURL(url string) error {
	_, err := parseURL(url)
	return err
}

// parseURL parses a URL. It accepts no client options in the query.
func parseURL(text string) (*goredis.Options, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, errURL
	}
	for name := range u.Query() {
		if name != "db" {
			return nil, errURL
		}
	}
	o, err := goredis.ParseURL(text)
	if err != nil || o.DB < 0 {
		return nil, errURL
	}
	o.Protocol = 2
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout = dialTimeout, ioTimeout, ioTimeout
	o.ContextTimeoutEnabled = true
	o.MaxRetries, o.DialerRetries = -1, 1 // call decides what to retry
	o.DisableIdentity = true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return o, nil
}

// clusterOptions returns the options for the cluster that the server of o belongs to.
func clusterOptions(o *goredis.Options) *goredis.ClusterOptions {
	return &goredis.ClusterOptions{
		Addrs:    []string{o.Addr},
		Username: o.Username, Password: o.Password, TLSConfig: o.TLSConfig, Protocol: o.Protocol,
		DialTimeout: o.DialTimeout, ReadTimeout: o.ReadTimeout, WriteTimeout: o.WriteTimeout,
		ContextTimeoutEnabled: true, MaxRetries: o.MaxRetries, DialerRetries: o.DialerRetries,
		DisableIdentity: true, DisableRoutingPolicies: true, MaintNotificationsConfig: o.MaintNotificationsConfig,
	}
}
