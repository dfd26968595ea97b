package main

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"
	"github.com/pb33f/libopenapi-validator/config"
	"github.com/pb33f/libopenapi-validator/responses"
	v3 "github.com/pb33f/libopenapi/datamodel/high/v3"
	"go.yaml.in/yaml/v3"
)

// A document describes the interface in one mode.
type document struct {
	mode   string
	raw    object
	model  *v3.Document
	bodies responses.ResponseBodyValidator
	paths  []path // more specific paths first
}

// A path is a path of the document with its methods.
type path struct {
	template string
	matches  *regexp.Regexp
	item     object
}

// An object is a YAML object.
type object = map[string]any

var parameter = regexp.MustCompile(`\\\{[a-z]+\\\}`)

// newDocument reads the document of a mode and validates it.
func newDocument(raw []byte, mode string) (*document, error) {
	d := &document{mode: mode}
	if err := yaml.Unmarshal(raw, &d.raw); err != nil {
		return nil, err
	}
	doc, err := libopenapi.NewDocument(raw)
	if err != nil {
		return nil, err
	}
	v, errs := validator.NewValidator(doc)
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	if ok, faults := v.ValidateDocument(); !ok {
		for _, f := range faults {
			errs = append(errs, f)
			for _, s := range f.SchemaValidationErrors {
				errs = append(errs, fmt.Errorf("%s: %s", s.KeywordLocation, s.Reason))
			}
		}
		return nil, errors.Join(errs...)
	}
	model, err := doc.BuildV3Model()
	if err != nil {
		return nil, err
	}
	d.model = &model.Model
	d.bodies = responses.NewResponseBodyValidator(d.model, config.WithFormatAssertions())
	for template, item := range d.raw["paths"].(object) {
		value := `[^/]+`
		if item.(object)["x-slashes"] == true { // OpenAPI cannot describe a parameter with slashes
			value = `.+`
		}
		expression := parameter.ReplaceAllString(regexp.QuoteMeta(template), value)
		d.paths = append(d.paths, path{template, regexp.MustCompile("^" + expression + "$"), item.(object)})
	}
	slices.SortFunc(d.paths, func(a, b path) int {
		if n := strings.Count(a.template, "{") - strings.Count(b.template, "{"); n != 0 {
			return n
		}
		return strings.Compare(a.template, b.template)
	})
	return d, nil
}

// find returns the path that matches a request, or nil.
func (d *document) find(escaped string) *path {
	for i := range d.paths {
		if d.paths[i].matches.MatchString(escaped) {
			return &d.paths[i]
		}
	}
	return nil
}

// methods returns the methods of a path in upper case.
func (p *path) methods() (list []string) {
	for _, m := range []string{"GET", "HEAD", "POST"} {
		if p.item[strings.ToLower(m)] != nil {
			list = append(list, m)
		}
	}
	return list
}

// resolve follows a reference. name is the name of the referenced object, or empty.
func (d *document) resolve(v any) (o object, name string) {
	o, _ = v.(object)
	for o != nil {
		ref, ok := o["$ref"].(string)
		if !ok {
			return o, name
		}
		name = ref
		var at any = d.raw
		for part := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
			next, _ := at.(object)
			at = next[part]
		}
		o, _ = at.(object)
	}
	return o, name
}

// An answer is an answer that the document describes.
type answer struct {
	key     string // identifies it: its operation or its referenced component
	owner   string // owns the headers: the referenced component or the operation
	content object
	headers object
}

// answer returns an operation's answer with a status, or nil.
func (d *document) answer(p *path, method string, status string) *answer {
	op, _ := p.item[strings.ToLower(method)].(object)
	listed, _ := op["responses"].(object)
	o, ref := d.resolve(listed[status])
	if o == nil {
		return nil
	}
	a := &answer{key: fmt.Sprintf("%s %s %s", method, p.template, status)}
	if a.owner = strings.TrimPrefix(ref, "#/components/responses/"); ref == "" {
		a.owner = a.key
	} else if status >= "400" { // one route is enough to show a shared refusal
		a.key = a.owner + " " + status
	}
	a.content, _ = o["content"].(object)
	a.headers, _ = o["headers"].(object)
	return a
}

// parameters returns the parameters of an operation, as "query NAME", "header NAME"
// or "body NAME".
func (d *document) parameters(p *path, method string) (list []string) {
	op, _ := p.item[strings.ToLower(method)].(object)
	for _, of := range []object{p.item, op} {
		params, _ := of["parameters"].([]any)
		for _, one := range params {
			if o, _ := d.resolve(one); o["in"] != "path" {
				list = append(list, fmt.Sprintf("%s %s", o["in"], o["name"]))
			}
		}
	}
	body, _ := d.resolve(op["requestBody"])
	content, _ := body["content"].(object)
	for _, media := range content {
		schema, _ := d.resolve(media.(object)["schema"])
		properties, _ := schema["properties"].(object)
		for name := range properties {
			list = append(list, "body "+name)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// validBody validates a body against the schema of the answer.
func (d *document) validBody(p *path, q *http.Request, res *http.Response) error {
	item, _ := d.model.Paths.PathItems.Get(p.template)
	ok, faults := d.bodies.ValidateResponseBodyWithPathItem(q, res, item, p.template)
	if ok {
		return nil
	}
	var errs []error
	for _, f := range faults {
		errs = append(errs, errors.New(f.Message))
		for _, s := range f.SchemaValidationErrors {
			errs = append(errs, fmt.Errorf("%s: %s", s.KeywordLocation, s.Reason))
		}
	}
	return errors.Join(errs...)
}

// A seen collects what the exchanges cover.
type seen struct {
	answers          map[string]bool // mode, key and media type
	described, shown map[string]bool // headers and parameters, in any mode
}

func newSeen() *seen {
	return &seen{answers: map[string]bool{}, described: map[string]bool{}, shown: map[string]bool{}}
}

func (d *document) mark(key, media string) string { return d.mode + " " + key + " " + media }

// unseen returns the answers that no exchange covers, and the number n of all
// answers. It adds headers and parameters to s.described.
func (d *document) unseen(s *seen) (list []string, n int) {
	all := map[string]bool{}
	for i := range d.paths {
		p := &d.paths[i]
		for _, method := range p.methods() {
			for _, name := range d.parameters(p, method) {
				s.described[fmt.Sprintf("%s %s with %s", method, p.template, name)] = true
			}
			listed, _ := p.item[strings.ToLower(method)].(object)["responses"].(object)
			for status := range listed {
				a := d.answer(p, method, status)
				if a == nil {
					list = append(list, fmt.Sprintf("%s %s %s, which refers to nothing", method, p.template, status))
					continue
				}
				for name := range a.headers {
					s.described[a.owner+" with "+name] = true
				}
				medias := slices.Collect(maps.Keys(a.content))
				if len(medias) == 0 {
					medias = []string{""}
				}
				for _, media := range medias {
					all[a.key+" "+media] = true
					if !s.answers[d.mark(a.key, media)] {
						list = append(list, strings.TrimSpace(a.key+" "+media))
					}
				}
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list), len(all)
}
