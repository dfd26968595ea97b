package probe

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"authsvc/internal/protocol/gate"
)

// An attempt is one or more requests. Only the answer to the last one is judged.
type attempt struct {
	steps []request
	// plain means that on a correctly configured host the gate answers, never the proxy
	// by itself.
	plain bool
	// rule means that the configuration names the path.
	rule bool
	// elsewhere means that another program may answer there, or none.
	elsewhere bool
	// program means that the program is said to listen there.
	program bool
	judge   func(a *attempt, got *answer) (result, why string) // nil: refusedBy
	done    func(result string)
}

// ownRefusals are statuses by which a proxy itself may refuse malformed or misdirected
// requests.
var ownRefusals = []int{400, 403, 405, 408, 411, 412, 413, 414, 416, 417, 421, 422, 426, 431, 501, 505}

// refusedBy judges the answer to an attempt that must be refused.
func (h *target) refusedBy(a *attempt, got *answer) (result, why string) {
	answered := fmt.Sprintf("answered %d", got.status)
	switch {
	case errors.Is(got.err, errNoHTTP2):
		return Skipped, got.err.Error()
	case got.err != nil && a.plain && !errors.Is(got.err, errNoAnswer):
		return Failed, "not reached: " + got.err.Error()
	case got.err != nil && a.plain:
		return Unclear, got.err.Error()
	case got.err != nil && a.elsewhere:
		return OK, "nothing answers"
	case got.err != nil:
		return OK, "no answer"
	case got.echo != nil && h.rewritten(a, got.echo):
		return OK, "the program received " + got.echo.Method + " " + got.echo.Target + ", which the rules let pass"
	case got.echo != nil:
		return Hole, "the program was reached: it received " + got.echo.Method + " " + got.echo.Target
	case got.status == http.StatusSwitchingProtocols:
		return Hole, "a WebSocket was opened"
	case h.gateSaid(got):
		return OK, answered + " by the gate"
	case h.toOrigin(got) && !a.plain:
		return OK, answered + ", to the origin"
	case a.elsewhere:
		return h.elsewhere(a, got, answered)
	case slices.Contains(ownRefusals, got.status) && !a.plain:
		return OK, answered + " by the proxy"
	case h.p.Echo && got.status >= 400:
		return OK, answered + ", not by the program"
	case slices.Contains(ownRefusals, got.status), got.status >= 500, got.status == http.StatusNotFound && !a.rule:
		return Unclear, answered + ", not by the gate and not certainly by the program"
	case h.p.Echo:
		return Unclear, answered + " by something other than authsvc echo"
	}
	return Hole, answered + ", not by the gate"
}

// rewritten reports whether the proxy changed the target to one that the rules let
// pass.
func (h *target) rewritten(a *attempt, arrived *echo) bool {
	if a.elsewhere || len(a.steps) == 0 {
		return false
	}
	last := &a.steps[len(a.steps)-1]
	return last.host == "" && last.at == "" && arrived.Target != last.target && h.p.Passes(h.Origin, arrived.Method, arrived.Target, arrived.Header)
}

// elsewhere judges an answer that may come from another program.
func (h *target) elsewhere(a *attempt, got *answer, answered string) (result, why string) {
	switch {
	case got.status < 300 && strings.TrimSpace(got.body) == "":
		return OK, answered + ", with an empty body"
	case slices.Contains(ownRefusals, got.status):
		return OK, answered + " by the proxy"
	case h.p.Echo:
		return OK, answered + ", not by the program"
	case a.program:
		return Hole, answered + ", not by the gate"
	case got.status < 400:
		return Unclear, answered + " by an unknown server; if it is the program, this is a hole: run authsvc echo in its place"
	}
	return OK, answered + ", apparently not by the program"
}

// opened judges the answer to a request that the rules let pass.
func (h *target) opened(a *attempt, got *answer) (result, why string) {
	switch {
	case got.err != nil && !errors.Is(got.err, errNoAnswer):
		return Failed, "not reached: " + got.err.Error()
	case got.err != nil:
		return Unclear, got.err.Error()
	case h.gateSaid(got):
		return Unclear, fmt.Sprintf("refused with %d, although the rules let it pass: the proxy may ask about another request, or cache an answer of the check", got.status)
	case h.p.Echo && got.echo == nil:
		return Unclear, fmt.Sprintf("answered %d, not by authsvc echo", got.status)
	}
	return OK, fmt.Sprintf("passes, answered %d", got.status)
}

// nothingArrived judges by the echo, which must not contain identity headers of the
// client.
func (h *target) nothingArrived(a *attempt, got *answer) (result, why string) {
	switch {
	case got.err != nil:
		return OK, "no answer"
	case got.echo == nil && (h.gateSaid(got) || slices.Contains(ownRefusals, got.status)):
		return OK, fmt.Sprintf("answered %d, refused", got.status)
	case got.echo == nil:
		return Unclear, fmt.Sprintf("answered %d, not by authsvc echo", got.status)
	}
	for name, values := range got.echo.Header {
		for _, identity := range h.p.Identity {
			if !gate.SameHeader(name, identity) {
				continue
			}
			if strings.Contains(strings.Join(values, ","), h.p.mark) {
				return Hole, "the program received the value of the client, as " + name
			}
			if len(values) > 1 || strings.Contains(name, "_") {
				return Hole, "the program received " + name + " twice, or in another spelling"
			}
		}
	}
	return OK, "the program was reached, without the value of the client"
}
