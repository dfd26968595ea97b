package postgres

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"authsvc/internal/sql/sqladapter"
)

// connectTimeout limits how long one server may take to answer a new connection, unless
// the URL sets a limit. It is short enough to try the next server within one call.
const connectTimeout = 2 * time.Second

// A target is a parsed URL.
type target struct {
	config *pgx.ConnConfig
	pool   sqladapter.Pool
}

// where names the database for errors, without user and password.
func (t *target) where() string {
	var hosts []string
	for _, host := range t.hosts() {
		name := host.Host
		if !local(name) || !strings.HasPrefix(name, "/") {
			name = net.JoinHostPort(name, strconv.Itoa(int(host.Port)))
		}
		if len(hosts) == 0 || hosts[len(hosts)-1] != name {
			hosts = append(hosts, name)
		}
	}
	return strings.Join(hosts, ",") + "/" + t.config.Database
}

// hosts lists the connection attempts. A host may appear twice, with and without TLS.
func (t *target) hosts() []*pgconn.FallbackConfig {
	first := &pgconn.FallbackConfig{Host: t.config.Host, Port: t.config.Port, TLSConfig: t.config.TLSConfig}
	return append([]*pgconn.FallbackConfig{first}, t.config.Fallbacks...)
}

// local reports whether traffic to a host stays on this machine.
func local(host string) bool {
	if strings.HasPrefix(host, "/") || strings.HasPrefix(host, "@") || host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// CheckURL returns an error if Open would refuse the URL. It makes no connection.
func CheckURL(url string) error {
	_, err := parse(url)
	return err
}

// parse parses a URL. It sets every default itself, so that the environment (PGSSLMODE,
// PGTARGETSESSIONATTRS) cannot weaken the connection.
func parse(location string) (*target, error) {
	scheme, rest, _ := strings.Cut(location, "://")
	if scheme != "postgres" && scheme != "postgresql" {
		return nil, errors.New("postgres: the URL must begin with postgres://")
	}
	_, query, _ := strings.Cut(rest, "?")
	given, err := url.ParseQuery(query)
	if err != nil {
		return nil, errors.New("postgres: the parameters after the ? of the URL cannot be read: write NAME=VALUE&NAME=VALUE, with % and & as %25 and %26")
	}
	t, err := read(location)
	if err != nil {
		return nil, err
	}
	if more := t.missing(given); len(more) > 0 {
		mark := "?"
		if strings.Contains(location, "?") {
			mark = "&"
		}
		if t, err = read(location + mark + more.Encode()); err != nil {
			return nil, err
		}
	}
	if err := t.checkTLS(given.Get("sslmode")); err != nil {
		return nil, err
	}
	return t, t.settle()
}

// read parses a URL with the driver.
func read(location string) (*target, error) {
	config, err := pgx.ParseConfig(location)
	if err != nil {
		return nil, errors.New("postgres: the URL cannot be used: " + reason(err) + ": write postgres://USER:PASSWORD@HOST:PORT/DATABASE?NAME=VALUE, with special characters as %XX")
	}
	return &target{config: config}, nil
}

// reason returns the driver's reason for an error, without the URL that the driver
// repeats.
func reason(err error) string {
	msg := err.Error()
	if i := strings.LastIndex(msg, "`: "); i >= 0 {
		msg = msg[i+len("`: "):]
	}
	if strings.HasPrefix(msg, "failed to parse as URL") || strings.Contains(msg, "://") {
		return "it is not well-formed" // the rest may contain part of the password
	}
	return msg
}

// missing returns the parameters to add to the URL.
func (t *target) missing(given url.Values) url.Values {
	more, names := url.Values{}, map[string]bool{}
	for _, host := range t.hosts() {
		names[net.JoinHostPort(host.Host, strconv.Itoa(int(host.Port)))] = true
		if !local(host.Host) && !given.Has("sslmode") && !given.Has("ssl") {
			more.Set("sslmode", "verify-full")
		}
	}
	if len(names) > 1 && !given.Has("target_session_attrs") {
		more.Set("target_session_attrs", "read-write")
	}
	return more
}

// checkTLS refuses connections to other machines that may fall back to plain text,
// unless the URL disables TLS explicitly.
func (t *target) checkTLS(mode string) error {
	for _, host := range t.hosts() {
		if host.TLSConfig == nil && !local(host.Host) && mode != "disable" {
			return fmt.Errorf("postgres: %s: sslmode=%s may connect without TLS: use verify-full, or disable if no one can eavesdrop on the connection", t.where(), mode)
		}
	}
	return nil
}

// settle removes the parameters that are not for the server, and sets defaults.
func (t *target) settle() error {
	if err := t.takePool(t.config.RuntimeParams); err != nil {
		return err
	}
	if t.config.ConnectTimeout == 0 {
		t.config.ConnectTimeout = connectTimeout
	}
	if t.config.RuntimeParams["application_name"] == "" {
		t.config.RuntimeParams["application_name"] = "authsvc"
	}
	t.config.OnPgError = keep
	return nil
}

// minConnections is the number of connections a migration needs, including the one that
// holds its lock.
const minConnections = 4

// takePool moves the pool settings out of params.
func (t *target) takePool(params map[string]string) error {
	t.pool = sqladapter.DefaultPool()
	for name, value := range params {
		if !strings.HasPrefix(name, "pool_") {
			continue
		}
		delete(params, name)
		var err error
		switch name {
		case "pool_max_conns":
			t.pool.Size, err = strconv.Atoi(value)
			if err == nil && t.pool.Size < minConnections {
				err = strconv.ErrRange
			}
		case "pool_max_conn_idle_time":
			t.pool.IdleTime, err = duration(value)
		case "pool_max_conn_lifetime":
			t.pool.Lifetime, err = duration(value)
		default:
			return fmt.Errorf("postgres: unknown parameter %s in the URL: supported are pool_max_conns, pool_max_conn_idle_time and pool_max_conn_lifetime", name)
		}
		if err != nil {
			return fmt.Errorf("postgres: %s=%s in the URL: write a number from %d for pool_max_conns, and times such as 30s or 1h", name, value, minConnections)
		}
	}
	return nil
}

func duration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err == nil && d <= 0 {
		err = strconv.ErrRange
	}
	return d, err
}
