// Package inbox keeps mails for people and tests to read. It takes them as they
// are; [authsvc/internal/dev/mailbox] is an SMTP server in front of one.
package inbox
