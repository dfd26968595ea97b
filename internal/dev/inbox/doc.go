// Package inbox keeps mails, unmodified, for people and tests to read. Package
// [authsvc/internal/dev/mailbox] is an SMTP server in front of an inbox.
package inbox
