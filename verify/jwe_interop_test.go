package verify

import (
	"bufio"
	"bytes"
	"crypto/aes"
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"strings"

	"github.com/go-jose/go-jose/v4"
	josecipher "github.com/go-jose/go-jose/v4/cipher"

	"authsvc/internal/test/npm"
)

// jwe18 checks that go-jose and Node.js's jose open tokens sealed by the service, and
// the reverse. First, these libraries must open the vectors of the standards.
func jwe18(t *T) {
	jwe18CBC(t)
	vectors := jweVectors(t)
	k := jweWorld(t, nil)
	for _, v := range vectors {
		if got, err := jweGoOpen(v.Key, v.Token); err != nil || got != v.Plaintext {
			t.Errorf("go-jose: %s: %q, %v", v.Name, got, err)
		}
		k.refused(t, v.Name, v.Token)
	}
	b := k.w.Browser()
	b.Login("ada")
	own := b.Cookies[k.w.SessionCookie()]
	claims := string(k.open(t, own))
	key := jweB64(string(k.key))
	if got, err := jweGoOpen(key, own); err != nil || got != claims || !strings.Contains(got, `"sub":"ada-id"`) {
		t.Errorf("go-jose opens %q, %v", got, err)
	}
	k.good(t, "sealed by go-jose", jweGoSeal(t, k))
	t.Figure("%d vectors", len(vectors))
	t.Run("Node.js", func(t *T) { jwe18Node(t, k, vectors, own, claims) })
}

// jwe18CBC checks go-jose's A256CBC-HS512, against which ours is tested, with RFC
// 7518 B.3.
func jwe18CBC(t *T) {
	key := make([]byte, 64)
	for i := range key {
		key[i] = byte(i)
	}
	a, err := josecipher.NewCBCHMAC(key, aes.NewCipher)
	if err != nil {
		t.Fatal(err)
	}
	iv, err := hex.DecodeString("1af38c2dc2b96ffdd86694092341bc04")
	if err != nil {
		t.Fatal(err)
	}
	sealed := a.Seal(nil, iv, []byte("A cipher system must not be required to be secret, and it must be able to fall into the hands of the enemy without inconvenience"),
		[]byte("The second principle of Auguste Kerckhoffs"))
	if tag := hex.EncodeToString(sealed[len(sealed)-32:]); tag != "4dd3b4c088a7f45c216839645b2012bf2e6269a8c56a816dbc1b267761955bc5" {
		t.Errorf("RFC 7518 B.3: tag %s", tag)
	}
}

// A jweVector is a line of testdata/jwe.jsonl.
type jweVector struct{ Name, Key, Token, Plaintext string }

func jweVectors(t *T) []jweVector {
	t.Helper()
	f, err := os.Open("testdata/jwe.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var list []jweVector
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var v jweVector
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		list = append(list, v)
	}
	if len(list) == 0 {
		t.Fatal("no vectors")
	}
	return list
}

// jweGoOpen opens a token with go-jose; key is base64url.
func jweGoOpen(key, token string) (string, error) {
	raw := jweMaybe(key)
	object, err := jose.ParseEncryptedCompact(token, []jose.KeyAlgorithm{jose.DIRECT, jose.A128KW},
		[]jose.ContentEncryption{jose.A128GCM, jose.A256GCM, jose.A128CBC_HS256, jose.A256CBC_HS512})
	if err != nil {
		return "", err
	}
	plain, err := object.Decrypt(raw)
	return string(plain), err
}

func jweGoSeal(t *T, k *jweBench) string {
	t.Helper()
	var own struct{ KID string }
	if err := json.Unmarshal(jweRaw(t, k.header), &own); err != nil {
		t.Fatal(err)
	}
	encrypter, err := jose.NewEncrypter(jose.ContentEncryption(k.enc), jose.Recipient{Algorithm: jose.DIRECT, Key: k.key, KeyID: own.KID}, nil)
	if err != nil {
		t.Fatal(err)
	}
	object, err := encrypter.Encrypt([]byte(jweAda()))
	if err != nil {
		t.Fatal(err)
	}
	token, err := object.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// jweNode answers {open, seal}: lists of tokens to open and claims to seal.
const jweNode = `
import { CompactEncrypt, compactDecrypt, base64url } from "jose"
let text = ""
for await (const chunk of process.stdin) text += chunk
const ask = JSON.parse(text)
const opened = []
for (const { Key, Token } of ask.open) {
  const { plaintext } = await compactDecrypt(Token, base64url.decode(Key))
  opened.push(new TextDecoder().decode(plaintext))
}
const sealed = await new CompactEncrypt(new TextEncoder().encode(ask.plaintext))
  .setProtectedHeader(JSON.parse(ask.header)).encrypt(base64url.decode(ask.key))
console.log(JSON.stringify({ opened, sealed }))
`

func jwe18Node(t *T, k *jweBench, vectors []jweVector, own, claims string) {
	const web = "../e2e/web"
	if theScale() < ci {
		t.Figure("without jose of Node.js")
		return
	}
	for _, name := range []string{"node", "npm"} {
		if lack := program(name).lack(); lack != "" {
			t.lacks(lack)
		}
	}
	if err := npm.Install(web); err != nil {
		t.Fatal(err)
	}
	list := []jweVector{{Name: "the service's own token", Key: jweB64(string(k.key)), Token: own, Plaintext: claims}}
	for _, v := range vectors {
		if !strings.Contains(v.Name, "compressed") { // jose 6 does not support zip
			list = append(list, v)
		}
	}
	ask, err := json.Marshal(map[string]any{"open": list, "key": jweB64(string(k.key)), "header": string(jweRaw(t, k.header)), "plaintext": jweAda()})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", "--input-type=module", "-e", jweNode)
	cmd.Dir, cmd.Stdin = web, bytes.NewReader(ask)
	var errors bytes.Buffer
	cmd.Stderr = &errors
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("node: %v\n%s", err, errors.String())
	}
	var answer struct {
		Opened []string
		Sealed string
	}
	if err := json.Unmarshal(out, &answer); err != nil || len(answer.Opened) != len(list) {
		t.Fatalf("%s: %v", out, err)
	}
	for i, v := range list {
		if answer.Opened[i] != v.Plaintext {
			t.Errorf("jose: %s: %q", v.Name, answer.Opened[i])
		}
	}
	k.good(t, "sealed by jose", answer.Sealed)
	t.Figure("go-jose and jose of Node.js")
}
