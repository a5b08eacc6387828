package virtualip

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"deployer/tasks/tasktest"
)

func TestRow(t *testing.T) {
	t.Parallel()
	want := Checks{Address: "10.0.0.100", Name: "m1", Decision: "http://127.0.0.1:8402/stay", Witnesses: make([]Witness, 3)}
	saw := func(holders ...string) []View {
		var out []View
		for i, h := range holders {
			v := View{Witness: []string{"m1", "m2", "m3"}[i], Holder: h}
			if h == "down" {
				v.Holder, v.Err = "", errors.New("connection refused")
			}
			out = append(out, v)
		}
		return out
	}
	gone := errors.New("no route to host")
	for name, tt := range map[string]struct {
		found Observation
		ok    bool
		says  string
	}{
		"here":                 {Observation{Holds: true, Seen: saw("m1", "m1", "m1")}, true, "all 3 witnesses see it here"},
		"elsewhere":            {Observation{Seen: saw("m2", "m2", "m2"), Refused: "fewer than 2 of 3 witnesses"}, true, "m2 has 10.0.0.100, which answers"},
		"on two hosts":         {Observation{Holds: true, Seen: saw("m1", "m2", "m1")}, false, "several hosts have 10.0.0.100: m1 (seen by m1, m3) and m2 (seen by m2)"},
		"hidden by another":    {Observation{Holds: true, Seen: saw("m2", "m2", "m2")}, false, "m1 (seen by m1) and m2"},
		"nowhere":              {Observation{Seen: saw("", "", ""), Answers: gone, Refused: "no API server accepts connections at 10.0.0.1:6443"}, false, "this host may not have it: no API server accepts connections"},
		"nowhere, and allowed": {Observation{Seen: saw("", "", ""), Answers: gone}, false, "keepalived does not take it"},
		"no majority":          {Observation{Seen: saw("", "down", "down"), Answers: gone, Refused: "fewer than 2 of 3 witnesses answer"}, false, "no answer from the witnesses on m2 (connection refused), m3"},
		"does not answer":      {Observation{Seen: saw("m2", "m2", "m2"), Answers: gone}, false, "10.0.0.100 is on m2 and does not answer: no route to host"},
		"about to give it up":  {Observation{Holds: true, Seen: saw("m1", "", ""), Refused: "no API server"}, false, "may not have it: no API server"},
		"a witness is down":    {Observation{Holds: true, Seen: saw("m1", "m1", "down")}, false, "no answer from the witnesses on m3 (connection refused)"},
	} {
		if got := Row(want, tt.found); got.OK != tt.ok || !strings.Contains(got.Detail, tt.says) || got.Check != CheckName {
			t.Errorf("%s: %+v, want ok %t and %q", name, got, tt.ok, tt.says)
		}
	}
}

// TestCheck observes witnesses of which one does not answer, until it does.
func TestCheck(t *testing.T) {
	t.Parallel()
	answer := func(status int, text string) *httptest.Server {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = w.Write([]byte(text))
		}))
		t.Cleanup(s.Close)
		return s
	}
	sees, api, decision := answer(200, "m2"), answer(200, "ok"), answer(503, "fewer than 2 of 3 witnesses")
	endpoint := func(s *httptest.Server) string { return strings.TrimPrefix(s.URL, "http://") }
	check := &Checks{
		Address: "192.0.2.100", URL: api.URL, Name: "m1", Decision: decision.URL,
		Witnesses: []Witness{{Name: "m1", Endpoint: endpoint(sees)}, {Name: "m2", Endpoint: endpoint(sees)}},
	}
	out := tasktest.Check(t, tasktest.New(t), check).Output
	if rows := out["problems"].([]any); len(rows) > 0 {
		t.Errorf("problems %v", rows)
	}
	blind := answer(503, "none")
	check.Witnesses = []Witness{{Name: "m1", Endpoint: endpoint(blind)}}
	out = tasktest.Check(t, tasktest.New(t), check).Output
	rows := out["problems"].([]any)
	if len(rows) != 1 || !strings.Contains(rows[0].(map[string]any)["detail"].(string), "no host has 192.0.2.100; this host may not have it: fewer than 2") {
		t.Errorf("problems %v", rows)
	}
}
