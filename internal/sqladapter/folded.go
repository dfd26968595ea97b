package sqladapter

import (
	"context"
	"errors"
	"fmt"

	"authsvc"
)

// explain looks into a conflict on tables whose text the database compares
// loosely: when what is in the way is not the same byte for byte, it is not
// the conflict of the contract, since nobody would ever find that record.
func (a *Adapter) explain(ctx context.Context, err error, u *authsvc.User, acc *authsvc.Account) error {
	if !errors.Is(err, authsvc.ErrConflict) || len(a.traits.Folded) == 0 {
		return err
	}
	if u != nil && u.Email != "" && a.traits.Folded["User.email"] {
		if twin := a.twin(ctx, a.twinEmail, u.Email); twin != "" && twin != u.Email {
			return foldedError("e-mail address", "User.email")
		}
	}
	if acc != nil && a.traits.Folded["Account.providerAccountId"] {
		if twin := a.twin(ctx, a.twinIdentity, acc.Provider, acc.ProviderAccountID); twin != "" && twin != acc.ProviderAccountID {
			return foldedError("provider account id", "Account.providerAccountId")
		}
	}
	return err
}

// twin finds what the database takes for the same.
func (a *Adapter) twin(ctx context.Context, s *statement, args ...any) (found string) {
	err := a.run(ctx, "look for a twin", func(r runner) error {
		return r.row(ctx, s, args...).Scan(text{&found})
	})
	if err != nil {
		return "" // the conflict is told, then
	}
	return found
}

func foldedError(what, column string) error {
	return fmt.Errorf("the store holds a record whose %s differs only in case, accents or trailing blanks, and compares them as equal: give the column %s a binary collation", what, column)
}
