package mongodb

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"authsvc"
)

// PutAudit implements [authsvc.AuditLog]. It stores each record completely or not at
// all.
func (s *Store) PutAudit(ctx context.Context, list []authsvc.AuditRecord) error {
	if len(list) == 0 {
		return nil
	}
	var documents []any
	for _, r := range list {
		documents = append(documents, bson.D{{Key: "_id", Value: r.ID}, {Key: "occurred", Value: date(r.Time)},
			{Key: "name", Value: r.Name}, {Key: "outcome", Value: string(r.Outcome)}, {Key: "code", Value: string(r.Code)},
			{Key: "reason", Value: r.Reason}, {Key: "provider", Value: r.Provider}, {Key: "user", Value: r.UserID},
			{Key: "client", Value: r.ClientIP}, {Key: "agent", Value: r.UserAgent}, {Key: "request", Value: r.RequestID},
			{Key: "actor", Value: r.Actor}})
	}
	return s.do(ctx, "put audit", func(ctx context.Context) error {
		err := retry(ctx, outcomeUnknown, func() error {
			_, err := s.audit().InsertMany(ctx, documents, options.InsertMany().SetOrdered(false))
			return err
		})
		if onlyDuplicates(err) {
			return nil
		}
		return err
	})
}

// ListAudit implements [authsvc.AuditLog].
func (s *Store) ListAudit(ctx context.Context, q authsvc.AuditQuery) (list []authsvc.AuditRecord, err error) {
	if q.Limit <= 0 { // for the server, 0 means no limit
		return nil, ctx.Err()
	}
	filter := bson.D{{Key: "occurred", Value: bson.D{{Key: "$gte", Value: date(q.Since)}}}, {Key: "$or", Value: bson.A{
		by("occurred", bson.D{{Key: "$gt", Value: date(q.Since)}}), by("_id", bson.D{{Key: "$gt", Value: q.After}})}}}
	if q.UserID != "" {
		filter = append(filter, bson.E{Key: "user", Value: q.UserID})
	}
	err = s.do(ctx, "list audit", func(ctx context.Context) error {
		found, err := s.list(ctx, s.audit(), filter, options.Find().SetSort(ascending("occurred", "_id")).SetLimit(int64(q.Limit)))
		for _, d := range found {
			list = append(list, d.auditRecord())
		}
		return err
	})
	return list, err
}

func (d document) auditRecord() authsvc.AuditRecord {
	return authsvc.AuditRecord{ID: d.text("_id"), AuditEvent: authsvc.AuditEvent{
		Name: d.text("name"), Time: d.instant("occurred"), Outcome: authsvc.AuditOutcome(d.text("outcome")),
		Code: authsvc.ErrorCode(d.text("code")), Reason: d.text("reason"), Provider: d.text("provider"), UserID: d.text("user"),
		ClientIP: d.text("client"), UserAgent: d.text("agent"), RequestID: d.text("request"), Actor: d.text("actor")}}
}

// SweepAudit implements [authsvc.AuditLog].
func (s *Store) SweepAudit(ctx context.Context, before time.Time, limit int) (n int, err error) {
	if limit <= 0 {
		return 0, ctx.Err()
	}
	old := by("occurred", bson.D{{Key: "$lt", Value: date(before)}})
	err = s.do(ctx, "sweep audit", func(ctx context.Context) error {
		found, err := s.list(ctx, s.audit(), old, find("_id").SetSort(ascending("occurred", "_id")).SetLimit(int64(limit)))
		if err == nil && len(found) > 0 {
			n, err = s.deleteAll(ctx, s.audit(), among("_id", keys(found)))
		}
		return err
	})
	return n, err
}
