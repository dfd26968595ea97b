package authsvc_test

// docs: imports
import (
	"authsvc"
	"authsvc/adapter/memory" // or sqlite, postgres, mysql, mongodb, redis
	"authsvc/authtest"       // in tests: signs people in
	"authsvc/devidp"         // on your machine: replaces identity providers and mail
	"authsvc/engine"
	"authsvc/mail"
	"authsvc/provider"
)

// docs

// The imports of docs/manual/embed.md name the packages in which it finds these names.
var (
	_ = authsvc.Config{Adapter: (*memory.Store)(nil)}
	_ *authtest.Service
	_ devidp.Options
	_ *engine.Service
	_ mail.Options
	_ = provider.GitHub
)
