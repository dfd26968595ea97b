package rules

import (
	"encoding/json"
	"errors"
	"maps"
	"net/netip"
	"net/url"
	"reflect"
	"slices"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/cost"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/ext"

	"authsvc"
	"authsvc/internal/seal/sessionshape"
)

// MaxProfile is the maximum size of a provider's profile for expressions and hooks, in
// bytes of JSON.
const MaxProfile = 64 << 10

// ErrProfileTooLarge means that the profile is larger than MaxProfile.
var ErrProfileTooLarge = errors.New("the profile is larger than 64 KiB")

// Variables holds the values that expressions may use. The kind of an expression
// determines which of them it may name.
type Variables struct {
	User        User
	Account     Account
	Profile     map[string]any
	NewUser     bool
	LinkRequest bool
	Client      Client
	Now         time.Time
	To          Address
	Session     Session
	Request     Request
}

// A User is the user who signs in or is signed in.
type User struct {
	ID            string `cel:"id" yaml:"id" json:"id,omitempty"`
	Name          string `cel:"name" yaml:"name" json:"name,omitempty"`
	Email         string `cel:"email" yaml:"email" json:"email,omitempty"`
	EmailVerified bool   `cel:"email_verified" yaml:"email_verified" json:"email_verified"`
	Image         string `cel:"image" yaml:"image" json:"image,omitempty"`
}

// An Account is a way to sign in: a provider, and the person's ID there.
type Account struct {
	Provider string `cel:"provider" yaml:"provider" json:"provider"`
	Type     string `cel:"type" yaml:"type" json:"type"`
	ID       string `cel:"id" yaml:"id" json:"id,omitempty"`
}

// A Client is the sender of a request.
type Client struct {
	IP    string `cel:"ip" yaml:"ip" json:"ip,omitempty"`
	Agent string `cel:"agent" yaml:"agent" json:"agent,omitempty"`
}

// An Address is the target of a callbackUrl.
type Address struct {
	Scheme string `cel:"scheme"`
	Host   string `cel:"host"`
	Port   string `cel:"port"`
	Path   string `cel:"path"`
}

// A Session says how and when a person signed in.
type Session struct {
	AuthTime time.Time      `cel:"auth_time" yaml:"auth_time"`
	Provider string         `cel:"provider" yaml:"provider"`
	Claims   map[string]any `cel:"claims" yaml:"claims"`
}

// A Request is a request of a user with a session.
type Request struct {
	Method string `cel:"method" yaml:"method"`
	Host   string `cel:"host" yaml:"host"`
	Path   string `cel:"path" yaml:"path"`
}

// OfAttempt returns the variables of a sign-in.
func OfAttempt(a *authsvc.SignInAttempt) *Variables {
	return &Variables{
		User:    User{ID: a.User.ID, Name: a.User.Name, Email: a.User.Email, EmailVerified: a.EmailProved, Image: a.User.Image},
		Account: Account{Provider: a.Account.Provider, Type: a.Account.Type, ID: a.Account.ProviderAccountID},
		Profile: a.Profile, NewUser: a.IsNewUser, LinkRequest: a.VerificationRequest,
		Client: clientOf(a.Client), Now: a.Time,
	}
}

// OfAddress returns the variables of a parsed address.
func OfAddress(to *url.URL) *Variables {
	port := to.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[to.Scheme]
	}
	return &Variables{To: Address{Scheme: to.Scheme, Host: to.Hostname(), Port: port, Path: to.EscapedPath()}}
}

// OfAccess returns the variables of a request of a user with a session.
func OfAccess(r *authsvc.AccessRequest) *Variables {
	s := r.Session
	return &Variables{
		User:    User{ID: s.UserID, Name: s.Name, Email: s.Email, EmailVerified: s.EmailVerified, Image: s.Image},
		Session: Session{AuthTime: s.AuthTime, Provider: s.Provider, Claims: s.Claims()},
		Request: Request{Method: r.Method, Host: r.Host, Path: r.Path},
		Client:  clientOf(r.Client), Now: r.Time,
	}
}

func clientOf(c authsvc.RequestClient) Client {
	client := Client{Agent: c.Agent}
	if c.IP.IsValid() {
		client.IP = c.IP.Unmap().String()
	}
	return client
}

// PlainProfile returns a profile without Go types, as expressions and hooks get it:
// integers are int64, other numbers float64.
func PlainProfile(p map[string]any) (map[string]any, error) {
	raw, err := json.Marshal(p)
	if err == nil && len(raw) > MaxProfile {
		err = ErrProfileTooLarge
	}
	if err != nil {
		return nil, err
	}
	plain := sessionshape.Decode(string(raw))
	if plain == nil {
		plain = map[string]any{}
	}
	return plain, nil
}

// declared returns the variables of a kind with their types.
func declared(kind Kind) map[string]*cel.Type {
	object := func(v any) *cel.Type { return cel.ObjectType(reflect.TypeOf(v).String()) }
	client, now := object(Client{}), cel.TimestampType
	switch kind {
	case Redirect:
		return map[string]*cel.Type{"to": object(Address{})}
	case When:
		return map[string]*cel.Type{"user": object(User{}), "session": object(Session{}), "request": object(Request{}), "client": client, "now": now}
	default:
		return map[string]*cel.Type{"user": object(User{}), "account": object(Account{}), "profile": cel.DynType, "new_user": cel.BoolType,
			"link_request": cel.BoolType, "client": client, "now": now}
	}
}

// Names returns the names of the variables of a kind, sorted.
func Names(kind Kind) []string { return slices.Sorted(maps.Keys(declared(kind))) }

// activation binds the variables of a kind.
func (v *Variables) activation(kind Kind) map[string]any {
	switch kind {
	case Redirect:
		return map[string]any{"to": v.To}
	case When:
		s := v.Session
		if s.Claims == nil {
			s.Claims = map[string]any{}
		}
		return map[string]any{"user": v.User, "session": s, "request": v.Request, "client": v.Client, "now": v.Now}
	default:
		return map[string]any{"user": v.User, "account": v.Account, "new_user": v.NewUser, "link_request": v.LinkRequest, "client": v.Client, "now": v.Now,
			// A function, because most expressions do not use the profile.
			"profile": func() any {
				plain, err := PlainProfile(v.Profile)
				if err != nil {
					return types.WrapErr(err)
				}
				return plain
			}}
	}
}

func newEnvironment(kind Kind) (*cel.Env, error) {
	options := []cel.EnvOption{
		cel.ParserExpressionSizeLimit(maxLength), cel.ParserRecursionLimit(maxDepth),
		ext.Strings(), setFunctions(),
		ext.NativeTypes(reflect.TypeFor[User](), reflect.TypeFor[Account](), reflect.TypeFor[Client](), reflect.TypeFor[Address](),
			reflect.TypeFor[Session](), reflect.TypeFor[Request](), ext.ParseStructTags(true)),
		domainFunction(), networkFunctions(),
		cel.ASTValidators(cel.ValidateRegexLiterals(), cel.ValidateDurationLiterals(), cel.ValidateTimestampLiterals(), networkLiterals{}),
	}
	for name, t := range declared(kind) {
		options = append(options, cel.Variable(name, t))
	}
	return cel.NewEnv(options...)
}

// sizes estimates no sizes, because only the minimum cost of an expression is used.
type sizes struct{}

// EstimateCallCost implements [cost.Estimator].
func (sizes) EstimateCallCost(string, string, *cost.AstNode, []cost.AstNode) *cost.CallEstimate {
	return nil
}

// EstimateSize implements [cost.Estimator].
func (sizes) EstimateSize(cost.AstNode) *cost.SizeEstimate { return nil }

// prefixOf parses the argument of network: a network, or one address.
func prefixOf(s string) (netip.Prefix, error) {
	if ip, err := netip.ParseAddr(s); err == nil && ip.Zone() == "" {
		return netip.PrefixFrom(ip.Unmap(), ip.Unmap().BitLen()), nil
	}
	p, err := netip.ParsePrefix(s)
	if err != nil || p != p.Masked() {
		return netip.Prefix{}, errors.New("not a network, such as 10.0.0.0/8")
	}
	return p, nil
}
