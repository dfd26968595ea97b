package verify

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"authsvc/internal/test/browser"
	"authsvc/internal/test/process"
)

// collection matches a line of the runtime's GODEBUG=gctrace=1. The last number is
// the live heap.
var collection = regexp.MustCompile(`(?m)^gc \d+ @.* (\d+)->(\d+)->(\d+) MB`)

// liveHeap returns the smallest heap, in MB, after the last collections.
func liveHeap(t testing.TB, p *process.Process) int {
	t.Helper()
	all := collection.FindAllStringSubmatch(p.Logs.String(), -1)
	if len(all) < 5 {
		t.Fatalf("%d collections", len(all))
	}
	least := 1 << 30
	for _, c := range all[len(all)-5:] {
		n, err := strconv.Atoi(c[3])
		if err != nil {
			t.Fatal(err)
		}
		least = min(least, n)
	}
	return least
}

// garbage returns the n-th of a series of meaningless requests. All are different;
// cookies, states and tokens are random.
func garbage(base string, n uint64) *http.Request {
	var seed [32]byte
	binary.LittleEndian.PutUint64(seed[:], n)
	random := rand.NewChaCha8(seed)
	raw := make([]byte, 48)
	random.Read(raw)
	word := hex.EncodeToString(raw)
	path := httpwirePaths[n%uint64(len(httpwirePaths))]
	method, body, contentType := http.MethodGet, []byte(nil), ""
	switch n / uint64(len(httpwirePaths)) % 4 {
	case 1:
		method, contentType = http.MethodPost, formType
		body = []byte("csrfToken=" + word + "&email=" + word + "@app.test&token=" + word + "&state=" + word + "&code=" + word)
	case 2:
		method, contentType, body = http.MethodPost, jsonType, fmt.Appendf(nil, `{"csrfToken":%q,"data":{%q:[%q]}}`, word, word, word)
	case 3:
		method, contentType, body = "X"+strings.ToUpper(word[:5]), word, raw
	}
	r, err := http.NewRequest(method, base+"/api/auth"+path+"?state="+word+"&code="+word+"&token="+word+"&callbackUrl=/"+word+"&"+word+"="+url.QueryEscape(string(raw)), bytes.NewReader(body))
	if err != nil {
		panic(err) // the parts above are a valid request
	}
	r.Header.Set("Content-Type", contentType)
	r.Header.Set("Cookie", "authsvc.session="+word+"; authsvc.session.1="+word+"; authsvc.csrf="+word+"%7C"+word+"; authsvc.tx."+word[:16]+"="+word+"; "+word+"="+word)
	r.Header.Set("X-Forwarded-For", word)
	r.Header.Set("User-Agent", word)
	return r
}

// flood sends the requests first to last from eight clients.
func flood(t testing.TB, p *process.Process, first, last int) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	numbers := make(chan int)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for n := range numbers {
				res, err := client.Do(garbage(p.URL, uint64(n)))
				if err != nil {
					t.Error(err)
					continue
				}
				io.Copy(io.Discard, res.Body) //nolint:errcheck // only its status counts
				res.Body.Close()
				if res.StatusCode >= 500 && res.StatusCode != http.StatusNotImplemented {
					t.Errorf("%s %s: %d", res.Request.Method, res.Request.URL.Path, res.StatusCode)
				}
			}
		})
	}
	for n := first; n < last; n++ {
		numbers <- n
	}
	close(numbers)
	all.Wait()
}

// TestGarbage checks that a hundred thousand different meaningless requests do not
// increase the memory of the process.
func TestGarbage(t *testing.T) {
	if lack := needsProc.lack(); lack != "" {
		t.Skip(lack)
	}
	n := []int{5_000, 30_000, 100_000}[theScale()]
	p := process.Serve(t, process.NewNeighbours(t).YAML(""), "AUTHSVC_STORAGE_URL=memory:", "GODEBUG=gctrace=1", "GOGC=20")
	flood(t, p, 0, n/2)
	heap, rss, files := liveHeap(t, p), settledRSS(t, p), procFiles(t, p)
	began := time.Now()
	flood(t, p, n/2, n/2+n)
	took := time.Since(began)
	heapNow, rssNow := liveHeap(t, p), settledRSS(t, p)
	fmt.Printf("garbage      %d requests at %.0f/s: heap %d MB before, %d MB after; RSS %.1f and %.1f MB\n", n, float64(n)/took.Seconds(), heap, heapNow, float64(rss)/1024, float64(rssNow)/1024)
	if measures() && heapNow > heap+heap/10+1 { // the runtime prints whole MB
		t.Errorf("the heap was %d MB and is %d MB", heap, heapNow)
	}
	if measures() && rssNow > rss+rss/10+1024 {
		t.Errorf("RSS was %d KB and is %d KB", rss, rssNow)
	}
	if now := procFiles(t, p); now > files+8 {
		t.Errorf("%d files are open, %d before", now, files)
	}
	if err := browser.New(p.URL, nil).SignOut(); err != nil {
		t.Errorf("twin: a request that means something: %v", err)
	}
}

// settledRSS returns RSS in KiB when it no longer changes.
func settledRSS(t testing.TB, p *process.Process) int {
	t.Helper()
	last := procStatus(t, p, "VmRSS")
	for range 20 {
		time.Sleep(200 * time.Millisecond)
		now := procStatus(t, p, "VmRSS")
		if now >= last-64 && now <= last+64 {
			return now
		}
		last = now
	}
	return last
}
