package authsvc

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"golang.org/x/text/unicode/norm"

	"authsvc/internal/seal"
)

// A deviceCookie names, sealed, the accounts that a browser signed in to. The browser's attempts at those accounts,
// and the links that it requests, have limits of their own, so that a stranger
// cannot lock out the owner (OWASP: device cookie). It grants nothing else:
// whoever copies it may try passwords and request links at the same rate as
// everybody.
type deviceCookie struct {
	Device   string          `json:"d"` // random, names the browser's own counts
	Accounts []deviceAccount `json:"a"` // most recently used last
}

type deviceAccount struct {
	Account string `json:"a"`           // see accountKey and userKey
	User    string `json:"i,omitempty"` // userKey of who signed in, if Account is not that
	Until   int64  `json:"u"`           // seconds since 1970
}

const (
	deviceLifetime    = 180 * 24 * time.Hour
	maxDeviceAccounts = 5
	maxDeviceCookie   = 2 << 10 // bytes; five accounts need half of it
	maxAccountName    = 1 << 10 // bytes that count
)

// accountKey names the account of a credentials provider in limits and in the
// cookie. Spellings that applications take for one account share it.
func accountKey(provider, name string) string {
	name = strings.TrimSpace(name)
	name = strings.ToValidUTF8(name[:min(len(name), maxAccountName)], "")
	name = strings.TrimSpace(strings.ToLower(norm.NFKC.String(name)))
	name = norm.NFKC.String(name) // lower-casing may denormalise
	return seal.Digest(provider + "\x00" + name)
}

// userKey names a user in the cookie, for sign-ins without a name that is entered.
func userKey(id string) string { return seal.Digest("a user\x00" + id) }

// deviceCookie opens the cookie; the zero value is that of an unknown device.
func (rq *request) deviceCookie() (k deviceCookie) {
	value, ok := rq.jar.get(rq.names.device)
	if !ok || len(value) > maxDeviceCookie {
		return deviceCookie{}
	}
	raw, _, err := rq.keys.device.Open(value)
	if err != nil || json.Unmarshal(raw, &k) != nil || k.Device == "" {
		return deviceCookie{}
	}
	k.Accounts = slices.DeleteFunc(k.Accounts, func(a deviceAccount) bool { return rq.now.Unix() >= a.Until })
	return k
}

// accountBucket is the key of the limit for an attempt at an account: one of the
// device's own if it signed in to that account before, else the one that all
// others share.
func (rq *request) accountBucket(account string) string {
	if rq.hasDeviceCookie(account) {
		return "known\x00" + rq.deviceCookie().Device + "\x00" + account
	}
	return account
}

// hasDeviceCookie reports whether this browser signed in to an account before.
func (rq *request) hasDeviceCookie(account string) bool {
	return slices.ContainsFunc(rq.deviceCookie().Accounts, func(a deviceAccount) bool { return a.Account == account || a.User == account })
}

// setDeviceCookie adds an account that this browser signed in to, and the userKey of
// its user. Of more than maxDeviceAccounts the one used longest ago is dropped.
func (rq *request) setDeviceCookie(account, user string) {
	k := rq.deviceCookie()
	if k.Device == "" {
		k.Device = seal.Token()
	}
	until := rq.now.Add(deviceLifetime)
	list := slices.DeleteFunc(k.Accounts, func(a deviceAccount) bool { return a.Account == account })
	if user == account {
		user = ""
	}
	list = append(list, deviceAccount{Account: account, User: user, Until: until.Unix()})
	k.Accounts = list[max(0, len(list)-maxDeviceAccounts):]
	raw, err := json.Marshal(k)
	if err != nil {
		return
	}
	if value, err := rq.keys.device.Seal(raw); err == nil {
		rq.setCookie(cookie{name: rq.names.device, value: value, expires: until})
	}
}
