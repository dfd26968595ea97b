// Package oidcoracle compares package oidc with two other relying parties,
// coreos/go-oidc and golang.org/x/oauth2. Its tests are separate from package oidc
// because go.sum of a module that uses a package also records the modules of that
// package's tests.
package oidcoracle
