package pages

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"image"
	_ "image/gif"  // decodes logos
	_ "image/jpeg" // decodes logos
	_ "image/png"  // decodes logos
	"io"
	"net/url"
	"slices"
	"strings"

	"authsvc/internal/text"
)

// maxLogo bounds a data: logo, which every page repeats, in bytes. Larger logos belong
// behind an https URL.
const maxLogo = 8 << 10

// logoFix is the advice for a logo that cannot be used.
const logoFix = "give an https address, or a data: address of a PNG, JPEG, GIF, WebP or SVG image"

// plainHost matches hosts without characters that have a meaning in a
// Content-Security-Policy (space, comma, semicolon, star). net/url accepts some of them.
var plainHost = text.LazyRegexp(`^([A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?$`)

// logoOrigin checks a logo and returns the origin that the policy must allow, or "" for
// a data: URL.
func logoOrigin(logo string) (string, error) {
	if strings.HasPrefix(logo, "data:") {
		return "", checkDataImage(logo)
	}
	u, err := url.Parse(logo)
	if err != nil || u.Scheme != "https" || u.User != nil || !plainHost.MatchString(u.Host) {
		return "", errors.New("only https: and data:image/ addresses can be shown")
	}
	return "https://" + strings.ToLower(u.Host), nil
}

// checkDataImage checks that a data: URL (RFC 2397) holds an image of its declared
// type.
func checkDataImage(logo string) error {
	if len(logo) > maxLogo {
		return fmt.Errorf("a data: address has %d bytes, but must have at most %d; use an https address", len(logo), maxLogo)
	}
	header, data, comma := strings.Cut(strings.TrimPrefix(logo, "data:"), ",")
	params := strings.Split(header, ";")
	kind, isImage := strings.CutPrefix(params[0], "image/")
	if !comma || !isImage {
		return errors.New("a data: address must hold an image")
	}
	raw, err := url.PathUnescape(data)
	if err == nil && slices.Contains(params[1:], "base64") {
		var decoded []byte
		decoded, err = base64.StdEncoding.DecodeString(raw)
		raw = string(decoded)
	}
	if err != nil {
		return fmt.Errorf("the data: address cannot be decoded: %w", err)
	}
	if got := imageKind([]byte(raw)); got != kind {
		return fmt.Errorf("a data: address of type image/%.20s must hold an image of that type", kind)
	}
	return nil
}

// imageKind returns the media subtype of an image that browsers show, or "" for
// anything else.
func imageKind(raw []byte) string {
	if len(raw) > 16 && string(raw[:4]) == "RIFF" && string(raw[8:15]) == "WEBPVP8" {
		return "webp"
	}
	if _, kind, err := image.DecodeConfig(bytes.NewReader(raw)); err == nil {
		return kind
	}
	if isSVG(raw) {
		return "svg+xml"
	}
	return ""
}

// isSVG reports whether raw is a well-formed document whose root is svg in its
// namespace. Scripts in it do not run, because the page shows it as an image.
func isSVG(raw []byte) bool {
	d := xml.NewDecoder(bytes.NewReader(raw))
	for root := true; ; {
		token, err := d.Token()
		if err != nil {
			return !root && errors.Is(err, io.EOF)
		}
		if e, ok := token.(xml.StartElement); ok && root {
			if e.Name != (xml.Name{Space: "http://www.w3.org/2000/svg", Local: "svg"}) {
				return false
			}
			root = false
		}
	}
}

// checkMarks checks the logos of providers and returns the origins that the policy must
// allow.
func checkMarks(providers []ProviderStyle) (origins []string, errs []error) {
	for _, p := range providers {
		logo := p.Style.Logo
		if logo == "" || knownMark(logo) {
			continue
		}
		origin, err := logoOrigin(logo)
		switch {
		case err == nil:
			origins = append(origins, origin)
		case strings.Contains(logo, ":"):
			errs = append(errs, &Mistake{Provider: p.ID, Field: "Logo", Problem: "cannot be used: " + err.Error(), Fix: logoFix})
		default:
			errs = append(errs, &Mistake{Provider: p.ID, Field: "Logo", Problem: fmt.Sprintf("%.40q is not a built-in mark", logo),
				Fix: "use the name of one, such as " + nearestMark(logo) + ", or " + logoFix})
		}
	}
	return origins, errs
}

// nearestMark returns the built-in mark with the most similar name.
func nearestMark(name string) string {
	return slices.MinFunc(markNames(), func(a, b string) int {
		return cmp.Compare(text.Distance(strings.ToLower(name), a), text.Distance(strings.ToLower(name), b))
	})
}
