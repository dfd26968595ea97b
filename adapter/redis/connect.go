package redis

import (
	"errors"
	"net/url"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// dialTimeout is how long a connection may take, where the context leaves it more.
const dialTimeout = 2 * time.Second

// ioTimeout is how long a command may take, where the context leaves it more. Tests,
// whose machine may be busy, wait longer.
var ioTimeout = 3 * time.Second

// errURL does not quote the URL, any part of which may be of the password.
var errURL = errors.New("redis: the URL cannot be used: want redis://user:password@host:port/database, rediss://… or " +
	"unix:///path?db=number, special characters of the password as %XX, and no other parameters")

// CheckURL says what Open would not accept in a URL. It makes no connection.
func CheckURL(url string) error {
	_, err := parseURL(url)
	return err
}

// parseURL parses a URL. It accepts no options of the client in it.
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
	o.MaxRetries, o.DialerRetries = -1, 1 // call knows what may be repeated
	o.DisableIdentity = true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return o, nil
}

// clusterOptions returns the options for the cluster to which the server of o
// belongs.
func clusterOptions(o *goredis.Options) *goredis.ClusterOptions {
	return &goredis.ClusterOptions{
		Addrs:    []string{o.Addr},
		Username: o.Username, Password: o.Password, TLSConfig: o.TLSConfig, Protocol: o.Protocol,
		DialTimeout: o.DialTimeout, ReadTimeout: o.ReadTimeout, WriteTimeout: o.WriteTimeout,
		ContextTimeoutEnabled: true, MaxRetries: o.MaxRetries, DialerRetries: o.DialerRetries,
		DisableIdentity: true, DisableRoutingPolicies: true, MaintNotificationsConfig: o.MaintNotificationsConfig,
	}
}
