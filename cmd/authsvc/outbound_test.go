package main

import (
	"crypto/tls"
	"encoding/base64"
	"encoding/pem"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"time"

	"authsvc/internal/dev/idp"
)

// runOutside runs an HTTP proxy on the port PORT, which lets in ann with the password
// hunter2, and behind it a provider at https://example.com. It writes the certificate of
// the provider into the file that it is given.
func runOutside() {
	provider, err := idp.New(idp.Options{Issuer: "https://example.com", Alg: "ES256", Clients: []idp.Client{{ID: "app", Secret: "app-secret"}}})
	if err != nil {
		exitWith(err)
	}
	behind := httptest.NewUnstartedServer(provider)
	behind.Config.ErrorLog = log.New(io.Discard, "", 0)
	behind.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	behind.StartTLS()
	defer behind.Close()
	proxy := &http.Server{Addr: "127.0.0.1:" + os.Getenv("PORT"), ReadHeaderTimeout: patience, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Proxy-Authorization") != "Basic "+base64.StdEncoding.EncodeToString([]byte("ann:hunter2")):
			w.WriteHeader(http.StatusProxyAuthRequired)
		case r.Method != http.MethodConnect || r.Host != "example.com:443":
			w.WriteHeader(http.StatusForbidden)
		default:
			tunnel(w, behind.Listener.Addr().String())
		}
	})}
	time.AfterFunc(10*time.Minute, func() { proxy.Close() })
	listener, err := net.Listen("tcp", proxy.Addr)
	if err != nil {
		exitWith(err)
	}
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: behind.Certificate().Raw})
	if err := os.WriteFile(os.Args[1], ca, 0o600); err != nil { // now that the port is open
		exitWith(err)
	}
	exitWith(proxy.Serve(listener))
}

// tunnel connects the client of a request to an address.
func tunnel(w http.ResponseWriter, to string) {
	there, err := net.Dial("tcp", to)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	defer there.Close()
	here, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer here.Close()
	io.WriteString(here, "HTTP/1.1 200 OK\r\n\r\n")
	go func() {
		io.Copy(there, buffered)
		there.Close()
	}()
	io.Copy(here, there)
}
