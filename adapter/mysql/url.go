package mysql

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"authsvc/internal/protocol/weburl"
	"authsvc/internal/sql/sqladapter"
)

// A target is a parsed URL. Only where may be shown.
type target struct {
	config  *mysql.Config
	where   string        // host:port/database, without user and password
	timeout time.Duration // connect timeout
	pool    sqladapter.Pool
}

// parameters lists the parameters that a URL may have.
func parameters() []string {
	return []string{"socket", "tls", "tls_ca", "timeout", "pool_max_conns", "pool_max_conn_idle_time", "pool_max_conn_lifetime"}
}

// CheckURL returns an error if Open would refuse the URL. It makes no connection.
func CheckURL(url string) error {
	_, err := parseURL(url)
	return err
}

// parseURL parses a URL. Its errors never repeat the URL, which contains a password.
func parseURL(location string) (*target, error) {
	u, err := url.Parse(location)
	if err != nil {
		return nil, errors.New("mysql: this is not a URL; write mysql://USER:PASSWORD@HOST:3306/DATABASE, with special characters of the password percent-encoded")
	}
	if u.Scheme != "mysql" && u.Scheme != "mariadb" || u.Opaque != "" || u.Fragment != "" {
		return nil, errors.New("mysql: write mysql://USER:PASSWORD@HOST:3306/DATABASE")
	}
	name := strings.TrimPrefix(u.Path, "/")
	if name == "" || strings.Contains(name, "/") {
		return nil, errors.New("mysql: the URL names no database; write mysql://USER:PASSWORD@HOST:3306/DATABASE")
	}
	q, err := values(u.RawQuery)
	if err != nil {
		return nil, err
	}
	t := &target{config: settings()}
	t.config.DBName = name
	if u.User != nil {
		t.config.User = u.User.Username()
		t.config.Passwd, _ = u.User.Password()
	}
	for _, part := range []func(*url.URL, map[string]string) error{t.address, t.security, t.limits} {
		if err := part(u, q); err != nil {
			return nil, fmt.Errorf("mysql: %w", err)
		}
	}
	return t, nil
}

// values reads the parameters. Each must be known and given at most once.
func values(query string) (map[string]string, error) {
	all, err := url.ParseQuery(query)
	if err != nil {
		return nil, errors.New("mysql: the parameters of the URL cannot be read")
	}
	q := map[string]string{}
	for name, list := range all {
		if !slices.Contains(parameters(), name) {
			return nil, fmt.Errorf("mysql: unknown parameter %q in the URL; supported are %s", name, strings.Join(parameters(), ", "))
		}
		if len(list) > 1 {
			return nil, fmt.Errorf("mysql: parameter %s occurs twice", name)
		}
		q[name] = list[0]
	}
	return q, nil
}

// settings returns the settings of every connection; they override the server's.
//
// Strict mode refuses values that do not fit, instead of truncating them.
// ClientFoundRows counts a row as updated even if its values stay the same.
func settings() *mysql.Config {
	c := mysql.NewConfig()
	c.ParseTime, c.Loc = true, time.UTC
	c.ClientFoundRows = true
	c.RejectReadOnly = true
	c.WriteTimeout = 10 * time.Second
	c.Logger = &mysql.NopLogger{} // errors are returned
	c.Params = map[string]string{
		"autocommit":               "1",
		"default_storage_engine":   "'InnoDB'",
		"foreign_key_checks":       "1",
		"innodb_lock_wait_timeout": "4", // seconds; less than the time limit of a call
		"lc_messages":              "'en_US'",
		"sql_mode":                 "'STRICT_ALL_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'",
		"time_zone":                "'+00:00'",
	}
	_ = c.Apply(mysql.Charset("utf8mb4", "")) // never returns an error
	return c
}

// address sets the host and port, or the socket.
func (t *target) address(u *url.URL, q map[string]string) error {
	t.config.Net = "tcp"
	if socket, ok := q["socket"]; ok {
		if u.Host != "" && u.Host != "localhost" || !filepath.IsAbs(socket) {
			return errors.New("socket must be the absolute path of a socket, and the host of the URL must be empty or localhost: mysql://USER@/DATABASE?socket=/run/mysqld/mysqld.sock")
		}
		t.config.Net, t.config.Addr = "unix", socket
		t.where = socket + " " + t.config.DBName
		return nil
	}
	if u.Hostname() == "" {
		return errors.New("the URL names neither a host nor a socket")
	}
	port := u.Port()
	if port == "" {
		port = "3306"
	}
	t.config.Addr = net.JoinHostPort(u.Hostname(), port)
	t.where = t.config.Addr + "/" + t.config.DBName
	return nil
}

// security configures TLS. By default, connections to other machines are verified.
func (t *target) security(u *url.URL, q map[string]string) error {
	mode, stated := q["tls"]
	if t.config.Net == "unix" {
		if stated || q["tls_ca"] != "" {
			return errors.New("tls and tls_ca must not be set with a socket")
		}
		return nil
	}
	if !stated && (!weburl.Loopback(u.Hostname()) || q["tls_ca"] != "") {
		mode, stated = "true", true
	}
	if !stated || mode == "false" {
		if q["tls_ca"] != "" {
			return errors.New("tls_ca must not be set with tls=false")
		}
		return nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: u.Hostname()}
	switch mode {
	case "true":
	case "skip-verify":
		c.InsecureSkipVerify = true
	default:
		return errors.New("tls must be true, skip-verify or false")
	}
	t.config.TLS = c
	return trust(c, q["tls_ca"])
}

// trust sets the authorities in file as the ones that may sign the server's
// certificate. Without a file, the system's authorities apply.
func trust(c *tls.Config, file string) error {
	if file == "" {
		return nil
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("tls_ca: %w", err)
	}
	c.RootCAs = x509.NewCertPool()
	if !c.RootCAs.AppendCertsFromPEM(pem) {
		return fmt.Errorf("tls_ca: %s holds no certificate in PEM form", file)
	}
	return nil
}

func (t *target) limits(_ *url.URL, q map[string]string) (err error) {
	t.timeout = 5 * time.Second
	t.pool = sqladapter.DefaultPool()
	if v, ok := q["pool_max_conns"]; ok {
		if t.pool.Size, err = strconv.Atoi(v); err != nil || t.pool.Size < 1 || t.pool.Size > 1000 {
			return errors.New("pool_max_conns must be a number from 1 to 1000")
		}
	}
	for name, to := range map[string]*time.Duration{"timeout": &t.timeout,
		"pool_max_conn_idle_time": &t.pool.IdleTime, "pool_max_conn_lifetime": &t.pool.Lifetime} {
		v, ok := q[name]
		if !ok {
			continue
		}
		if *to, err = time.ParseDuration(v); err != nil || *to <= 0 {
			return fmt.Errorf("%s must be a time such as 30s or 5m", name)
		}
	}
	return nil
}
