package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/adapter/memory"
)

// TestMailsOfEarlierBuild checks that mails left in the store by an earlier build are
// sent, whatever the limit. That build delayed mails past the limit of all mails, so
// they are due one after another.
func TestMailsOfEarlierBuild(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sent := make(chan string, 10)
		s, err := New(authsvc.Config{URL: "https://app.test", Secrets: []string{"3f8c0e1b6d5a49f7a2c4e6081b3d5f70"}, Adapter: memory.New(), Logger: slog.New(slog.DiscardHandler),
			RateLimit: authsvc.RateLimit{EmailTotal: authsvc.Rate{N: 1, Per: time.Hour}},
			Providers: []authsvc.Provider{&authsvc.Email{From: "a@app.test", Send: func(_ context.Context, m authsvc.Message) error {
				sent <- m.To
				return nil
			}}}})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close(t.Context()) //nolint:errcheck // nothing hangs
		now := time.Now()
		for i := range 5 {
			message, err := json.Marshal(authsvc.Message{To: fmt.Sprintf("u%d@app.test", i)})
			if err != nil {
				t.Fatal(err)
			}
			payload, err := s.mailing.key.Seal(fmt.Appendf(nil, `{"p":"email","m":%s,"c":"203.0.113.0","k":%t,"r":"0123456789ab"}`, message, i%2 == 0))
			if err != nil {
				t.Fatal(err)
			}
			m := adapter.Mail{ID: fmt.Sprint(i), Payload: []byte(payload), Due: now.Add(time.Duration(i) * time.Minute), Expires: now.Add(time.Hour)}
			if err := s.common.Adapter.PutMail(t.Context(), m, maxQueuedMails); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if len(sent) != 5 {
			t.Errorf("%d of 5 mails", len(sent))
		}
	})
}
