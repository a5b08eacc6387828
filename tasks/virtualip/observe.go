package virtualip

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"deployer/engine"
	"deployer/engine/sanitize"
	"deployer/tasks/httpcheck"
)

// Observation is what one host sees of a virtual address.
type Observation struct {
	Holds   bool   // the host has the address on an interface
	Refused string // why the host may not have the address; empty when it may
	Answers error  // why the URL at the address does not answer; nil when it does
	Seen    []View // answers of the witnesses, in their order
}

// View is the answer of one witness.
type View struct {
	Witness string
	Holder  string // name of the host that has the address, as the witness sees it; empty for none
	Err     error  // why there is no answer
}

// askTimeout is the maximum duration of one question: a witness answers within 0.5 s.
const askTimeout = 2 * time.Second

// maxAnswer is the maximum length of an answer in bytes; names of hosts and reasons are shorter.
const maxAnswer = 512

// none is the answer of a witness that sees no host with the address.
const none = "none"

func (c *Checks) observe(ctx context.Context, sys engine.System) Observation {
	found := Observation{Holds: hasAddress(c.Address), Seen: make([]View, len(c.Witnesses))}
	var all sync.WaitGroup
	for i, w := range c.Witnesses {
		all.Go(func() {
			_, text, err := ask(ctx, "http://"+w.Endpoint+"/")
			found.Seen[i] = View{Witness: w.Name, Holder: text, Err: err}
			if text == none {
				found.Seen[i].Holder = ""
			}
		})
	}
	all.Go(func() {
		_, found.Answers = httpcheck.HTTP{URL: c.URL, Insecure: true, Body: "^ok"}.Do(ctx, sys)
	})
	if c.Decision != "" {
		all.Go(func() {
			status, text, err := ask(ctx, c.Decision)
			switch {
			case err != nil:
				found.Refused = fmt.Sprintf("its own witness does not answer: %v", err)
			case status != http.StatusOK:
				found.Refused = text
			}
		})
	}
	all.Wait()
	return found
}

// ask returns status and text of an answer.
func ask(ctx context.Context, url string) (status int, text string, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, askTimeout, fmt.Errorf("no answer from %s within %s", url, askTimeout))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, "", err
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return 0, "", cause
		}
		return 0, "", err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return 0, "", fmt.Errorf("reading the answer of %s: %w", url, err)
	}
	return resp.StatusCode, sanitize.FirstLine(strings.TrimSpace(string(body)), maxAnswer), nil
}

// hasAddress reports whether an interface of the host has the address.
func hasAddress(text string) bool {
	want, err := netip.ParseAddr(text)
	list, err2 := net.InterfaceAddrs()
	if err != nil || err2 != nil {
		return false
	}
	for _, a := range list {
		if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().Unmap() == want.Unmap() {
			return true
		}
	}
	return false
}
