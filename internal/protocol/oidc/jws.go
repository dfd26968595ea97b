package oidc

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"

	jose "github.com/go-jose/go-jose/v4"

	"authsvc/internal/text/strictjson"
)

var errMalformed = errors.New("not a signed JWT in compact form")

// verifyJWS reads a compact JWS with an allowed algorithm and typ, and calls verify to
// check its signature. It returns the claims and the algorithm.
func verifyJWS(ctx context.Context, raw string, algs []jose.SignatureAlgorithm, typ func(any) bool,
	verify func(context.Context, *jose.JSONWebSignature) ([]byte, error),
) (Claims, jose.SignatureAlgorithm, error) {
	alg, err := checkHeader(raw, algs, typ)
	if err != nil {
		return nil, "", err
	}
	jws, err := jose.ParseSignedCompact(raw, algs)
	if err != nil {
		return nil, "", errMalformed
	}
	payload, err := verify(ctx, jws)
	if err != nil {
		return nil, "", err
	}
	claims, err := strictjson.Object(payload)
	return claims, alg, err
}

// checkHeader checks the header of a token before any key is looked up, and returns its
// algorithm. Only alg, kid and typ are used: jku, jwk, x5u and x5c would let the token
// choose its own key. kind accepts a typ.
func checkHeader(raw string, algs []jose.SignatureAlgorithm, kind func(typ any) bool) (jose.SignatureAlgorithm, error) {
	if len(raw) > maxIDToken {
		return "", errors.New("answer is too large")
	}
	if strings.Count(raw, ".") != 2 || strings.ContainsFunc(raw, notCode) {
		return "", errMalformed
	}
	encoded, _, _ := strings.Cut(raw, ".")
	decoded, err := base64.RawURLEncoding.Strict().DecodeString(encoded)
	if err != nil {
		return "", errMalformed
	}
	header, err := strictjson.Object(decoded)
	if err != nil {
		return "", fmt.Errorf("header: %w", err)
	}
	name, _ := header["alg"].(string)
	alg := jose.SignatureAlgorithm(name)
	if !slices.Contains(algs, alg) {
		return "", &Mismatch{"algs", errors.New("signature algorithm is not allowed")}
	}
	for _, extension := range []string{"crit", "b64"} {
		if _, ok := header[extension]; ok {
			return "", errors.New("header extensions are not supported")
		}
	}
	if typ, ok := header["typ"]; ok && !kind(typ) {
		return "", errors.New("the token is of another kind")
	}
	return alg, nil
}

// plainJWT reports whether typ is the type of an ID token. Access tokens (at+jwt),
// logout tokens (logout+jwt) and others have types of their own (RFC 8725, section
// 3.11).
func plainJWT(typ any) bool {
	s, _ := typ.(string)
	return strings.EqualFold(s, "JWT") || strings.EqualFold(s, "application/jwt")
}

// tokenJWT is like plainJWT, but also accepts an access token (RFC 9068, section 2.1).
func tokenJWT(typ any) bool {
	s, _ := typ.(string)
	return plainJWT(typ) || strings.EqualFold(s, "at+jwt") || strings.EqualFold(s, "application/at+jwt")
}

// logoutJWT reports whether typ is the type of a logout token. It also accepts the
// plain type, which providers used earlier; the events claim distinguishes such a token
// from an ID token.
func logoutJWT(typ any) bool {
	s, _ := typ.(string)
	return plainJWT(typ) || strings.EqualFold(s, "logout+jwt") || strings.EqualFold(s, "application/logout+jwt")
}
