package mongodb

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	texts "authsvc/internal/text"
)

// callTimeout limits one call, including its retries, unless the URL sets timeoutMS.
// undoing limits the time to undo a failed step.
const (
	callTimeout = 5 * time.Second
	undoing     = 2 * time.Second
)

// connect creates a client. It returns the client, the name of the database and the
// time limit of a call. It does not wait for a server.
func connect(location string) (_ *mongo.Client, database string, limit time.Duration, err error) {
	database, secrets, err := parse(location)
	if err != nil {
		return nil, "", 0, err
	}
	o := options.Client().SetAppName("authsvc").SetServerSelectionTimeout(callTimeout).SetConnectTimeout(callTimeout).
		ApplyURI(location).
		SetWriteConcern(writeconcern.Majority()).SetReadPreference(readpref.Primary()).SetRegistry(registry())
	if err := o.Validate(); err != nil {
		return nil, "", 0, redact(err, secrets)
	}
	limit = callTimeout
	if o.Timeout != nil && *o.Timeout > 0 {
		limit = *o.Timeout
	}
	client, err := mongo.Connect(o)
	if err != nil {
		return nil, "", 0, redact(err, secrets)
	}
	return client, database, limit, nil
}

// CheckURL returns an error if Open would refuse the URL; it does not check the
// parameters. It makes no connection and resolves no name.
func CheckURL(url string) error {
	if _, _, err := parse(url); err != nil {
		return fmt.Errorf("mongodb: %w", err)
	}
	return nil
}

// parse returns the database of a URL, and the secrets in it. It does not start with
// the driver's own parser, whose errors quote the URL.
func parse(location string) (database string, secrets []string, err error) {
	scheme, rest, found := strings.Cut(location, "://")
	if !found || scheme != "mongodb" && scheme != "mongodb+srv" {
		return "", nil, errors.New("the URL must begin with mongodb:// or mongodb+srv://")
	}
	rest, query, _ := strings.Cut(rest, "?")
	hosts, path, _ := strings.Cut(rest, "/")
	user := ""
	if at := strings.LastIndex(hosts, "@"); at >= 0 {
		user = hosts[:at]
	} else if strings.Contains(path, "@") {
		return "", nil, errors.New("the URL's user or password has a character that must be percent-encoded")
	}
	database, err = url.PathUnescape(path)
	if err != nil || strings.ContainsAny(database, "/\\ \".$\x00") {
		return "", nil, errors.New("the URL's path is not the name of a database")
	}
	if database == "" {
		return "", nil, errors.New("the URL names no database: add one, as in mongodb://host/authsvc")
	}
	return database, secretsOf(user, query), nil
}

// secretsOf lists the parts of a URL that may be secret, both as written and decoded.
func secretsOf(user, query string) (list []string) {
	add := func(text string) {
		list = append(list, text)
		if plain, err := url.PathUnescape(text); err == nil {
			list = append(list, plain)
		}
	}
	if _, password, found := strings.Cut(user, ":"); found {
		add(password)
	}
	for pair := range strings.SplitSeq(query, "&") {
		key, value, _ := strings.Cut(pair, "=")
		switch strings.ToLower(key) {
		case "authmechanismproperties", "tlscertificatekeyfilepassword", "sslclientcertificatekeypassword":
			add(value)
		}
	}
	return list
}

// redact returns a driver error about a URL without the URL's secrets. Of the cause, it
// keeps only whether it is a network error.
func redact(err error, secrets []string) error {
	text := err.Error()
	for _, secret := range secrets {
		if texts.Reveals(text, secret) {
			text = "the URL cannot be parsed"
		}
	}
	if dns := (*net.DNSError)(nil); errors.As(err, &dns) {
		return fmt.Errorf("%w: %s", errNetwork, text)
	}
	return errors.New(text)
}

// registry encodes like the driver, but refuses text that is not valid UTF-8, which a
// server might change.
func registry() *bson.Registry {
	r := bson.NewRegistry()
	r.RegisterKindEncoder(stringKind, encodeText{})
	return r
}
