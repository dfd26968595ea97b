package mongodb

import (
	"context"
	"crypto/subtle"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"authsvc/adapter"
)

// maxPayload is the size limit of a queued mail, in bytes.
const maxPayload = 64 << 10

var (
	errPayload = errors.New("mail payload exceeds 64 KiB")
	errSlots   = errors.New("found no place in the mail queue after many tries")
)

// PutToken implements [adapter.Adapter]. A token whose mail was not stored is harmless,
// since no one has received it.
func (s *Store) PutToken(ctx context.Context, t adapter.VerificationToken, m adapter.Mail, maxQueued int) error {
	return s.do(ctx, "put token", func(ctx context.Context) error {
		if len(m.Payload) > maxPayload {
			return errPayload
		}
		queued, err := s.queued(ctx)
		if err != nil {
			return err
		}
		if queued >= int64(maxQueued) {
			return adapter.ErrQueueFull
		}
		id := bson.NewObjectID()
		err = s.insert(ctx, s.links(), bson.D{
			{Key: "_id", Value: id},
			{Key: s.names.of("VerificationToken.identifier"), Value: t.Identifier},
			{Key: s.names.of("VerificationToken.token"), Value: t.Token},
			{Key: s.names.of("VerificationToken.expires"), Value: date(t.Expires)},
		})
		if !isDuplicate(err) {
			if err == nil {
				err = s.insertMail(ctx, m, maxQueued)
			}
			if err != nil {
				undo(ctx, func(ctx context.Context) { s.deleteAll(ctx, s.links(), by("_id", id)) }) //nolint:errcheck
			}
		}
		return err
	})
}

func (s *Store) queued(ctx context.Context) (n int64, err error) {
	err = retry(ctx, outcomeUnknown, func() error {
		n, err = s.mails().CountDocuments(ctx, bson.D{})
		return err
	})
	return n, err
}

// insertMail gives a mail one of maxQueued numbered places. Places are unique, so
// callers that counted at the same time cannot overfill the queue.
func (s *Store) insertMail(ctx context.Context, m adapter.Mail, maxQueued int) error {
	payload := m.Payload
	if payload == nil {
		payload = []byte{}
	}
	for try := range 64 {
		slot, err := s.slot(ctx, maxQueued, try)
		if err != nil {
			return err
		}
		err = s.insertNew(ctx, s.mails(), bson.D{
			{Key: "_id", Value: m.ID}, {Key: "slot", Value: slot}, {Key: "payload", Value: payload},
			{Key: "due", Value: date(m.Due)}, {Key: "expires", Value: date(m.Expires)}, {Key: "attempts", Value: int64(m.Attempts)},
		})
		if err == nil {
			return nil
		}
		if !isDuplicate(err) {
			undo(ctx, func(ctx context.Context) {
				s.deleteAll(ctx, s.mails(), by("_id", m.ID, bson.E{Key: "slot", Value: slot})) //nolint:errcheck // without its token it is a mail too many
			})
			return err
		}
		if _, err := s.first(ctx, s.mails(), by("_id", m.ID)); !errors.Is(err, adapter.ErrNotFound) {
			if err == nil {
				err = adapter.ErrConflict
			}
			return err
		}
	}
	return errSlots
}

// slot returns a random slot: any slot in the first attempts, later a free one.
func (s *Store) slot(ctx context.Context, maxQueued, try int) (int64, error) {
	if try < 2 {
		return rand.Int64N(int64(maxQueued)), nil
	}
	found, err := s.list(ctx, s.mails(), bson.D{}, find("slot"))
	if err != nil {
		return 0, err
	}
	used := map[int64]bool{}
	for _, d := range found {
		used[d.number("slot")] = true
	}
	var free []int64
	for slot := range int64(maxQueued) {
		if !used[slot] {
			free = append(free, slot)
		}
	}
	if len(free) == 0 {
		return 0, adapter.ErrQueueFull
	}
	return free[rand.IntN(len(free))], nil
}

// GetToken implements [adapter.Adapter].
func (s *Store) GetToken(ctx context.Context, identifier, token string) (t adapter.VerificationToken, err error) {
	err = s.do(ctx, "get token", func(ctx context.Context) error {
		d, err := s.first(ctx, s.links(), by(s.names.of("VerificationToken.identifier"), identifier,
			bson.E{Key: s.names.of("VerificationToken.token"), Value: token}))
		if err == nil {
			t = s.readLink(d)
		}
		return err
	})
	return t, err
}

// TakeToken implements [adapter.Adapter]. Deleting the token decides which caller gets
// it; callers with different tokens may all get theirs. If the call is interrupted
// afterwards, the other tokens stay until the next one is taken, or expire.
func (s *Store) TakeToken(ctx context.Context, identifier, token string, now time.Time) (t adapter.VerificationToken, u adapter.User, err error) {
	err = s.do(ctx, "take token", func(ctx context.Context) error {
		links, err := s.linksOf(ctx, identifier)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(links, func(d document) bool {
			return subtle.ConstantTimeCompare([]byte(s.readLink(d).Token), []byte(token)) == 1
		})
		if i < 0 {
			return adapter.ErrNotFound
		}
		owner, err := s.userByEmail(ctx, identifier)
		if err = ignore(adapter.ErrNotFound, err); err != nil {
			return err
		}
		taken := s.readLink(links[i])
		mine, err := s.delete(ctx, s.links(), by("_id", links[i].key()))
		switch {
		case err != nil:
			return err
		case !mine: // another caller took it
			return adapter.ErrNotFound
		case now.Before(taken.Expires):
			if err := s.removeLinks(ctx, slices.Delete(links, i, i+1)); err != nil {
				return err
			}
		}
		t, u = taken, owner
		return nil
	})
	return t, u, err
}

func (s *Store) linksOf(ctx context.Context, identifier string) ([]document, error) {
	return s.list(ctx, s.links(), by(s.names.of("VerificationToken.identifier"), identifier), options.Find())
}

func (s *Store) readLink(d document) adapter.VerificationToken {
	return adapter.VerificationToken{Identifier: d.text(s.names.of("VerificationToken.identifier")),
		Token: d.text(s.names.of("VerificationToken.token")), Expires: d.instant(s.names.of("VerificationToken.expires"))}
}

// VoidTokens implements [adapter.Adapter]. It removes each token after its mail, so
// that the next call can finish an interrupted one.
func (s *Store) VoidTokens(ctx context.Context, identifier string) error {
	return s.do(ctx, "void tokens", func(ctx context.Context) error {
		links, err := s.linksOf(ctx, identifier)
		if err != nil {
			return err
		}
		return s.removeLinks(ctx, links)
	})
}

// ClaimMail implements [adapter.Adapter]. If the answer is lost, the mail is due again
// at the time again.
func (s *Store) ClaimMail(ctx context.Context, now, again time.Time) (m adapter.Mail, err error) {
	err = s.do(ctx, "claim mail", func(ctx context.Context) error {
		return retry(ctx, notExecuted, func() error {
			raw, err := s.mails().FindOneAndUpdate(ctx, by("due", bson.D{{Key: "$lte", Value: date(now)}}),
				bson.D{{Key: "$set", Value: by("due", date(again))}, {Key: "$inc", Value: by("attempts", int64(1))}},
				options.FindOneAndUpdate().SetSort(ascending("due", "_id")).SetReturnDocument(options.After)).Raw()
			if err == nil {
				m = readMail(document{raw})
			}
			return err
		})
	})
	return m, err
}

func readMail(d document) adapter.Mail {
	_, payload, _ := d.Lookup("payload").BinaryOK()
	return adapter.Mail{ID: d.text("_id"), Payload: payload, Due: d.instant("due"), Expires: d.instant("expires"),
		Attempts: int(d.number("attempts"))}
}

// DelayMail implements [adapter.Adapter].
func (s *Store) DelayMail(ctx context.Context, id string, due time.Time) error {
	return s.do(ctx, "delay mail", func(ctx context.Context) error {
		return s.change(ctx, s.mails(), by("_id", id), bson.D{{Key: "$set", Value: by("due", date(due))}})
	})
}

// DeleteMail implements [adapter.Adapter].
func (s *Store) DeleteMail(ctx context.Context, id string) error {
	return s.do(ctx, "delete mail", func(ctx context.Context) error {
		_, err := s.deleteAll(ctx, s.mails(), by("_id", id))
		return err
	})
}
