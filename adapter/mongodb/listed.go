package mongodb

import (
	"context"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"authsvc/adapter"
)

// Sessions of strategy jwt exist only in authsvc_session. Their field user holds the
// user's id as text. Their field session holds their own digest, which is not the _id
// of any session. Earlier versions therefore sweep them after they expire.

// insertCookieSession stores a session of strategy jwt.
func (s *Store) insertCookieSession(ctx context.Context, rec adapter.SessionRecord) error {
	d := addOrigin(append(by("_id", rec.Digest, bson.E{Key: "epoch", Value: rec.Epoch}, bson.E{Key: "user", Value: rec.UserID}),
		ownFields(rec, rec.Digest).set...), rec)
	err := s.insertNew(ctx, s.ownSessions(), d)
	if isDuplicate(err) {
		err = adapter.ErrConflict
	}
	return err
}

func (s *Store) updateCookieSession(ctx context.Context, rec adapter.SessionRecord) error {
	var w writer
	w.value("expires", date(rec.Expires))
	w.instant("auth_time", rec.Began)
	w.instant("proved_at", rec.AuthTime)
	w.text("provider", rec.Provider)
	return s.change(ctx, s.ownSessions(), by("_id", rec.Digest, bson.E{Key: "user", Value: bson.D{{Key: "$exists", Value: true}}}), w.update())
}

func readCookieSession(own document) adapter.SessionRecord {
	return adapter.SessionRecord{Digest: own.text("_id"), UserID: own.text("user"), Expires: own.instant("expires"),
		Began: own.instant("auth_time"), AuthTime: own.instant("proved_at"), Provider: own.text("provider"), Claims: own.bytes("claims"),
		SessionOrigin: own.origin(), Seen: own.instant("seen")}
}

func (s *Store) cookieSessionsOf(ctx context.Context, userID string) ([]document, error) {
	return s.list(ctx, s.ownSessions(), by("user", userID), options.Find())
}

// DeleteSessionOf implements [adapter.Adapter].
func (s *Store) DeleteSessionOf(ctx context.Context, userID, digest string) (rec adapter.SessionRecord, err error) {
	err = s.do(ctx, "delete session of", func(ctx context.Context) error {
		own, err := s.first(ctx, s.ownSessions(), by("_id", digest))
		if err != nil {
			return err
		}
		if !own.has("user") {
			d, err := s.first(ctx, s.sessions(), by("_id", own.Lookup("session")))
			if err == nil && d.id(s.names.of("Session.userId")) != userID {
				err = adapter.ErrNotFound
			}
			if err == nil {
				rec, err = s.removeSession(ctx, d)
			}
			return err
		}
		mine, err := s.delete(ctx, s.ownSessions(), by("_id", digest, bson.E{Key: "user", Value: userID}))
		if err == nil && !mine {
			err = adapter.ErrNotFound
		}
		if err == nil {
			rec = readCookieSession(own)
		}
		return err
	})
	return rec, err
}

// touchBatch is the number of sessions that TouchSessions updates in one command.
const touchBatch = 500

// TouchSessions implements [adapter.Adapter].
func (s *Store) TouchSessions(ctx context.Context, seen []adapter.SessionSeen) error {
	return s.do(ctx, "touch sessions", func(ctx context.Context) error {
		for some := range slices.Chunk(seen, touchBatch) {
			var changes []mongo.WriteModel
			for _, one := range some {
				changes = append(changes, mongo.NewUpdateOneModel().SetFilter(by("_id", one.Digest)).
					SetUpdate(bson.D{{Key: "$max", Value: by("seen", date(one.At))}}))
			}
			err := retry(ctx, outcomeUnknown, func() error {
				_, err := s.ownSessions().BulkWrite(ctx, changes, options.BulkWrite().SetOrdered(false))
				return err
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// PutMail implements [adapter.Adapter].
func (s *Store) PutMail(ctx context.Context, m adapter.Mail, maxQueued int) error {
	return s.do(ctx, "put mail", func(ctx context.Context) error {
		if len(m.Payload) > maxPayload {
			return errPayload
		}
		queued, err := s.queued(ctx)
		if err == nil && queued >= int64(maxQueued) {
			err = adapter.ErrQueueFull
		}
		if err != nil {
			return err
		}
		return s.insertMail(ctx, m, maxQueued)
	})
}
