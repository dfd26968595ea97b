// Package oidcoracle holds package oidc up against two other relying parties,
// coreos/go-oidc and golang.org/x/oauth2. Its tests are apart from those of
// package oidc because a module that uses a package records what the tests of
// that package need as well.
package oidcoracle
