package main

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
)

// personAddress returns the address of the person with a number.
func personAddress(n string) string { return "visitor" + n + "@signin.example" }

// persons counts people. No store has seen any of them.
var persons atomic.Int64

func nextPerson() int64 { return persons.Add(1) }

// csrfToken requests a token and keeps its cookie.
func csrfToken(v *visitor) (string, error) {
	body, err := v.get(csrfPath)
	if err != nil {
		return "", err
	}
	var answer struct{ CSRFToken string }
	if err := json.Unmarshal([]byte(body), &answer); err != nil || answer.CSRFToken == "" {
		return "", fmt.Errorf("GET csrf answers %q", body)
	}
	return answer.CSRFToken, nil
}

// begin posts a sign-in and returns the redirect target.
func begin(v *visitor, provider string, form url.Values) (string, error) {
	token, err := csrfToken(v)
	if err != nil {
		return "", err
	}
	form.Set("csrfToken", token)
	form.Set("json", "true")
	body, err := v.post("/api/auth/signin/"+provider, form)
	if err != nil {
		return "", err
	}
	var answer struct{ URL string }
	if err := json.Unmarshal([]byte(body), &answer); err != nil || strings.Contains(answer.URL, "error=") {
		return "", fmt.Errorf("POST signin/%s answers %q", provider, body)
	}
	return answer.URL, nil
}

// arrive opens the callback and checks that the person is signed in.
func arrive(v *visitor, callback, address string) error {
	location, err := v.get(callback)
	if err != nil {
		return err
	}
	body, err := v.get(sessionPath)
	if err != nil {
		return err
	}
	if !strings.Contains(body, address) {
		return fmt.Errorf("the callback leads to %s, the session is %s", location, body)
	}
	return nil
}

// signInConfig returns the configuration of the providers for sign-ins.
func signInConfig(storage string, n *neighbours) string {
	return databaseConfig(storage) + fmt.Sprintf("providers:\n"+
		"- {id: op, type: oidc, name: Example, issuer: %q, client_id: %s, client_secret: %q}\n"+
		"- {id: email, type: email, server: \"smtp://%s\", from: no-reply@signin.example}\n"+
		"outbound: {allow_networks: [127.0.0.0/8]}\n", n.op.issuer(), providerClient, secret, n.mail.addr())
}

// neighbours are the mail server and the provider of a service. They run in this
// process, on loadCore, so that their time does not count as the service's.
type neighbours struct {
	mail *mailSink
	op   *openIDProvider
}

func listenNeighbours() (*neighbours, error) {
	mail, err := listenMail()
	if err != nil {
		return nil, err
	}
	op, err := listenProvider()
	if err != nil {
		mail.listener.Close()
		return nil, err
	}
	return &neighbours{mail, op}, nil
}

func (n *neighbours) close() {
	n.mail.listener.Close()
	n.op.listener.Close()
}

func prepareEmail(b *bench, _ benchCase, s *store) (*prepared, error) {
	return b.prepareSignIn(s, func(n *neighbours) journey { return byEmail(n.mail) })
}

func prepareOIDC(b *bench, _ benchCase, s *store) (*prepared, error) {
	return b.prepareSignIn(s, func(n *neighbours) journey { return byOIDC(n.op) })
}

// prepareSignIn signs in people whom the store has not seen.
func (b *bench) prepareSignIn(s *store, journey func(*neighbours) journey) (*prepared, error) {
	n, err := listenNeighbours()
	if err != nil {
		return nil, err
	}
	people := journeys{journey(n), b.conns}
	s.location = strings.Join([]string{s.location, n.mail.addr(), n.op.issuer()}, " ")
	return &prepared{config: signInConfig(s.url, n), close: n.close, runs: func(_, _ *server) ([2]loader, error) {
		return [2]loader{people, people}, nil
	}}, nil
}

// byEmail signs in with the link in a mail.
func byEmail(s *mailSink) journey {
	return func(v *visitor, n int64) error {
		link, err := askForLink(v, s, n)
		if err != nil {
			return err
		}
		return arrive(v, link, personAddress(strconv.FormatInt(n, 10)))
	}
}

// askForLink returns the path of the link for person n.
func askForLink(v *visitor, s *mailSink, n int64) (string, error) {
	address := personAddress(strconv.FormatInt(n, 10))
	if _, err := begin(v, "email", url.Values{"email": {address}}); err != nil {
		return "", err
	}
	link, err := s.link(address)
	return strings.TrimPrefix(link, "http://"+v.addr), err
}

// byOIDC signs in at a provider.
func byOIDC(p *openIDProvider) journey {
	return func(v *visitor, n int64) error {
		location, err := begin(v, "op", url.Values{})
		if err != nil {
			return err
		}
		callback, err := p.authorize(location, n)
		if err != nil {
			return err
		}
		return arrive(v, callback, personAddress(strconv.FormatInt(n, 10)))
	}
}
