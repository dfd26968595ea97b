package engine

import (
	"encoding/json"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"authsvc"
	"authsvc/engine/internal/cookie"
	"authsvc/internal/seal"
)

// A deviceCookie holds, sealed, the accounts that a browser signed in to. The browser
// has its own limits for attempts at those accounts and for links that it requests, so
// a stranger cannot lock out the owner (OWASP: device cookie). The cookie grants
// nothing else: a person who copies it may try passwords and request links only at the
// rate that everyone has.
type deviceCookie struct {
	Device   string          `json:"d"` // random; names the browser's own counts
	Accounts []deviceAccount `json:"a"` // most recently used last
}

type deviceAccount struct {
	Account string `json:"a"`           // see accountKey and userKey
	User    string `json:"i,omitempty"` // userKey of the user who signed in, if Account is not that
	Until   int64  `json:"u"`           // seconds since 1970
	Epoch   int64  `json:"e,omitempty"` // the SessionEpoch of the user at the sign-in
}

const (
	deviceLifetime    = epochLife
	maxDeviceAccounts = 5
	maxDeviceCookie   = 2 << 10 // bytes; five accounts need half of it
	maxAccountName    = 1 << 10 // bytes; the rest is ignored
)

// accountKey names the account of a credentials provider in limits and in the cookie.
// Spellings that applications treat as one account share a key.
func accountKey(provider, name string) string {
	name = strings.TrimSpace(name)
	name = strings.ToValidUTF8(name[:min(len(name), maxAccountName)], "")
	name = strings.TrimSpace(strings.ToLower(norm.NFKC.String(name)))
	name = norm.NFKC.String(name) // lower-casing may denormalise
	return seal.Digest(provider + "\x00" + name)
}

// userKey names a user in the cookie, for sign-ins in which no name is entered.
func userKey(id string) string { return seal.Digest("a user\x00" + id) }

// deviceCookie opens the cookie. It returns the zero value for an unknown device.
func (dk *desk) deviceCookie(rq *request) (k deviceCookie) {
	value, ok := rq.jar.Get(dk.deviceCookieName)
	if !ok || len(value) > maxDeviceCookie {
		return deviceCookie{}
	}
	raw, _, err := dk.deviceKey.Open(value)
	if err != nil || json.Unmarshal(raw, &k) != nil || k.Device == "" {
		return deviceCookie{}
	}
	k.Accounts = slices.DeleteFunc(k.Accounts, func(a deviceAccount) bool { return rq.now.Unix() >= a.Until })
	return k
}

// accountBucket returns the rate limit key for an attempt at an account. A device that
// has signed in to the account has its own key; all others share one.
func (dk *desk) accountBucket(rq *request, account string) string {
	if dk.hasDeviceCookie(rq, account) {
		return "known\x00" + dk.deviceCookie(rq).Device + "\x00" + account
	}
	return account
}

// hasDeviceCookie reports whether this browser has signed in to an account before.
func (dk *desk) hasDeviceCookie(rq *request, account string) bool {
	return slices.ContainsFunc(dk.deviceCookie(rq).Accounts, func(a deviceAccount) bool { return a.Account == account || a.User == account })
}

// knowsBrowser reports whether this browser has signed in as the user u since all sessions
// of the user last ended at once, such as by an undo or a block. These make a thief's
// browser, like all others, new to the account. A sign-out does not.
func (dk *desk) knowsBrowser(rq *request, u authsvc.User) bool {
	key := userKey(u.ID)
	return slices.ContainsFunc(dk.deviceCookie(rq).Accounts, func(a deviceAccount) bool { return a.Epoch == u.SessionEpoch && (a.Account == key || a.User == key) })
}

// deviceIf returns the name of the browser's own counts if known is true, otherwise "".
func (dk *desk) deviceIf(rq *request, known bool) string {
	if !known {
		return ""
	}
	return dk.deviceCookie(rq).Device
}

// setDeviceCookie adds an account that this browser signed in to as the user u. Beyond
// maxDeviceAccounts, it drops the least recently used account.
func (dk *desk) setDeviceCookie(rq *request, account string, u authsvc.User) {
	k := dk.deviceCookie(rq)
	if k.Device == "" {
		k.Device = seal.Token()
	}
	until := rq.now.Add(deviceLifetime)
	list := slices.DeleteFunc(k.Accounts, func(a deviceAccount) bool { return a.Account == account })
	user := userKey(u.ID)
	if user == account {
		user = ""
	}
	list = append(list, deviceAccount{Account: account, User: user, Until: until.Unix(), Epoch: u.SessionEpoch})
	k.Accounts = list[max(0, len(list)-maxDeviceAccounts):]
	raw, err := json.Marshal(k)
	if err != nil {
		return
	}
	if value, err := dk.deviceKey.Seal(raw); err == nil {
		rq.setCookie(cookie.Cookie{Name: dk.deviceCookieName, Value: value, Expires: until})
	}
}
