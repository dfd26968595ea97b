package pages

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"image"
	_ "image/gif"  // logos
	_ "image/jpeg" // logos
	_ "image/png"  // logos
	"io"
	"net/url"
	"slices"
	"strings"

	"authsvc/internal/text"
)

// maxLogo bounds a data: logo, which is repeated in every page, in bytes.
// Bigger ones belong behind an https URL.
const maxLogo = 8 << 10

// logoFix is what to do about a logo that cannot be used.
const logoFix = "give an https address, or a data: address of a PNG, JPEG, GIF, WebP or SVG image"

// plainHost keeps everything that means something in a policy (space, comma, semicolon,
// star) out of it; net/url alone does not.
var plainHost = text.LazyRegexp(`^([A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?$`)

// logoOrigin checks a logo and returns the origin that the policy has to
// allow: none for a data: URL.
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

// checkDataImage checks that a data: URL (RFC 2397) holds an image of the type
// that it says.
func checkDataImage(logo string) error {
	if len(logo) > maxLogo {
		return fmt.Errorf("a data: address of %d bytes is more than %d; use an https address", len(logo), maxLogo)
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
		return fmt.Errorf("a data: address of image/%.20s does not hold such an image", kind)
	}
	return nil
}

// imageKind is the subtype of the media type of an image that browsers show;
// empty for anything else.
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
// namespace. Scripts in it do not run: it is shown as an image.
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

// checkMarks checks the logos of providers and returns the origins that the
// policy has to allow.
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
			errs = append(errs, &Mistake{Provider: p.ID, Field: "Logo", Problem: fmt.Sprintf("%.40q is no built-in mark", logo),
				Fix: "use the name of one, such as " + nearestMark(logo) + ", or " + logoFix})
		}
	}
	return origins, errs
}

// nearestMark is the built-in mark whose name differs least.
func nearestMark(name string) string {
	return slices.MinFunc(markNames(), func(a, b string) int {
		return cmp.Compare(text.Distance(strings.ToLower(name), a), text.Distance(strings.ToLower(name), b))
	})
}
