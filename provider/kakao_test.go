package provider_test

import (
	"testing"

	"authsvc"
)

// TestKakaoScope checks that, with an empty scope, Kakao uses the consent items of the
// application.
func TestKakaoScope(t *testing.T) {
	t.Parallel()
	rec := recordings(t, "kakao")["user"]
	delete(rec.Authorize.Params, "scope")
	a := newAttempt(t, changed(t, "kakao", func(o *authsvc.OAuth) { o.Scope = "" }), rec)
	a.start()
	if word := a.comeBack(nil); word != "" || a.stored == nil {
		t.Errorf("%q, stored %+v\n%s", word, a.stored, a.log)
	}
}
