package provider

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"authsvc"
	"authsvc/internal/text"
)

// withCode returns an OAuth.Hooks.ExchangeCode that refuses a callback without a code.
func withCode(id string, f func(context.Context, *authsvc.Exchange) (authsvc.Profile, error)) func(context.Context, *authsvc.Exchange) (authsvc.Profile, error) {
	return func(ctx context.Context, x *authsvc.Exchange) (authsvc.Profile, error) {
		if x.Code == "" {
			return nil, errors.New(id + ": no code")
		}
		return f(ctx, x)
	}
}

// object makes a call whose response must be a JSON object.
func object(ctx context.Context, x *authsvc.Exchange, id string, r authsvc.APIRequest) (authsvc.Profile, error) {
	v, err := x.Do(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", id, err)
	}
	answer, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New(id + ": the answer is not an object")
	}
	return answer, nil
}

var plainCode = text.LazyRegexp(`^-?[0-9]{1,10}$`)

// success finds errors in a response with status 200: the value of member must be one
// of good, where "" means that member is missing. Its error repeats numbers only, never
// the provider's texts.
func success(id string, answer authsvc.Profile, member string, good ...string) error {
	code := answer.Text(member)
	switch {
	case slices.Contains(good, code):
		return nil
	case !plainCode.MatchString(code):
		return fmt.Errorf("%s: the answer has no known %s", id, member)
	}
	return fmt.Errorf("%s: the answer has %s %s", id, member, code)
}
