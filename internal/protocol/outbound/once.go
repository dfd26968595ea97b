package outbound

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// Deliver sends a request that may be sent only once. If there was no connection and so
// nothing was sent, it tries once more; for this, a body must be readable again
// (http.Request.GetBody). The connection is used only for this request, since a reused
// connection that the other end has just closed would lose it.
func (c *Client) Deliver(req *http.Request) (*Response, error) {
	req.Close = true
	return c.within(req, func(req *http.Request) (*Response, error) {
		a, err := c.send(req)
		if !errors.Is(err, errNoConnection) && !errors.Is(err, errNoName) || !pause(req.Context(), RetryPause) {
			return a, err
		}
		again := req.Clone(req.Context())
		if req.GetBody != nil {
			body, bodyErr := req.GetBody()
			if bodyErr != nil {
				return a, err
			}
			again.Body = body
		}
		return c.send(again)
	})
}

type budgetKey struct{}

// WithBudget returns a context that carries a common deadline for all calls that one
// request causes. The context itself does not end then.
func WithBudget(ctx context.Context, until time.Time) context.Context {
	return context.WithValue(ctx, budgetKey{}, until)
}

// WithinBudget limits a call by the deadline of WithBudget and by timeout, whichever
// comes first.
func WithinBudget(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	end := time.Now().Add(timeout)
	if until, ok := ctx.Value(budgetKey{}).(time.Time); ok && until.Before(end) {
		end = until
	}
	return context.WithDeadline(ctx, end)
}
