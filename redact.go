package authsvc

import (
	"fmt"
	"io"
	"log/slog"
)

// A Config, a Client and a Service print without their contents, so that no
// log line and no panic shows a secret.

// String names the configuration without showing it.
func (c Config) String() string { return "configuration of " + printable(c.URL, 80) }

// Format implements [fmt.Formatter] for all verbs.
func (c Config) Format(f fmt.State, _ rune) { io.WriteString(f, c.String()) } //nolint:errcheck // fmt keeps it

// LogValue implements [slog.LogValuer].
func (c Config) LogValue() slog.Value { return slog.StringValue(c.String()) }

// MarshalText keeps encoders from walking the fields.
func (c Config) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// String names the client without its secret.
func (c Client) String() string { return "client " + printable(c.ID, 80) }

// Format implements [fmt.Formatter] for all verbs.
func (c Client) Format(f fmt.State, _ rune) { io.WriteString(f, c.String()) } //nolint:errcheck // fmt keeps it

// LogValue implements [slog.LogValuer].
func (c Client) LogValue() slog.Value { return slog.StringValue(c.String()) }

// MarshalText keeps encoders from walking the fields.
func (c Client) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// String names the service without showing its configuration.
func (s *Service) String() string { return "authsvc at " + s.base }

// Format implements [fmt.Formatter] for all verbs.
func (s *Service) Format(f fmt.State, _ rune) { io.WriteString(f, s.String()) } //nolint:errcheck // fmt keeps it

// LogValue implements [slog.LogValuer].
func (s *Service) LogValue() slog.Value { return slog.StringValue(s.String()) }
