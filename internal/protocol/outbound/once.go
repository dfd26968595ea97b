package outbound

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// Deliver sends a request that may be sent only once. It is tried once more if
// there was no connection, so that nothing was sent, and req then has to have a
// body that can be read again (http.Request.GetBody). The connection is of this
// request alone: one that the other end has just closed would lose it.
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

// WithBudget returns a context that carries until when all calls that one request
// causes may take together. The context itself goes on.
func WithBudget(ctx context.Context, until time.Time) context.Context {
	return context.WithValue(ctx, budgetKey{}, until)
}

// WithinBudget bounds a call by what WithBudget said and by timeout, whichever
// ends first.
func WithinBudget(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	end := time.Now().Add(timeout)
	if until, ok := ctx.Value(budgetKey{}).(time.Time); ok && until.Before(end) {
		end = until
	}
	return context.WithDeadline(ctx, end)
}
