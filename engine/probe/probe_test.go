package probe

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// resolver answers every A question with 10.1.2.3, except for names that begin with
// "no".
func resolver(t *testing.T) string {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	go func() {
		buf := make([]byte, 1500)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			if answer, err := answerDNS(buf[:n]); err == nil {
				_, _ = conn.WriteTo(answer, from)
			}
		}
	}()
	return conn.LocalAddr().String()
}

func answerDNS(raw []byte) ([]byte, error) {
	var m dnsmessage.Message
	if err := m.Unpack(raw); err != nil {
		return nil, err
	}
	m.Response, m.Additionals = true, nil
	q := m.Questions[0]
	switch {
	case strings.HasPrefix(q.Name.String(), "no"):
		m.RCode = dnsmessage.RCodeNameError
	case q.Type == dnsmessage.TypeA:
		m.Answers = []dnsmessage.Resource{{
			Header: dnsmessage.ResourceHeader{Name: q.Name, Class: dnsmessage.ClassINET, TTL: 1},
			Body:   &dnsmessage.AResource{A: [4]byte{10, 1, 2, 3}},
		}}
	}
	return m.Pack()
}

func TestTargets(t *testing.T) {
	web := httptest.NewServer(Handler())
	defer web.Close()
	secure := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Host) }))
	defer secure.Close()
	ca := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw}))
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	dns := resolver(t)
	tests := []struct {
		target Target
		ok     bool
		detail string
	}{
		{Target{Kind: "tcp", Address: web.Listener.Addr().String()}, true, "connected from 127.0.0.1:"},
		{Target{Kind: "tcp", Address: "127.0.0.1:1"}, false, "refused"},
		{Target{Kind: "http", Address: web.URL + "/ok"}, true, "200 OK: ok"},
		{Target{Kind: "http", Address: web.URL + "/nothing"}, false, "404 Not Found"},
		{Target{Kind: "http", Address: "http://" + silent.Addr().String(), Timeout: "50ms"}, false, "no answer within 50ms"},
		{Target{Kind: "http", Address: "ftp://x"}, false, "begins with http://"},
		{Target{Kind: "https", Address: secure.URL, CA: ca, Name: "a.b"}, true, "200 OK: a.b"},
		{Target{Kind: "https", Address: secure.URL, CA: ca, Server: "example.com"}, true, "200 OK"},
		{Target{Kind: "https", Address: secure.URL, CA: ca, Server: "other.org"}, false, "other.org"},
		{Target{Kind: "https", Address: secure.URL}, false, "unknown authority"},
		{Target{Kind: "https", Address: secure.URL, CA: "x"}, false, "PEM"},
		{Target{Kind: "dns", Name: "a.test.", Server: dns}, true, "10.1.2.3"},
		{Target{Kind: "dns", Name: "no.test.", Server: dns}, false, "no such host"},
		{Target{Kind: "dns"}, false, "name is missing"},
		{Target{Kind: "tcp"}, false, "address is missing"},
		{Target{Kind: "icmp", Address: "x"}, false, "unknown kind"},
		{Target{Kind: "tcp", Address: "x", Timeout: "1h"}, false, "not between"},
		{Target{Kind: "tcp", Address: "x", Timeout: "soon"}, false, "timeout"},
	}
	var request Request
	for _, tt := range tests {
		request.Targets = append(request.Targets, tt.target)
	}
	body, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.Post(web.URL+"/check", "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	var got Response
	if err := json.NewDecoder(response.Body).Decode(&got); err != nil || len(got.Results) != len(tests) {
		t.Fatalf("%d results, %v", len(got.Results), err)
	}
	for i, tt := range tests {
		r := got.Results[i]
		if r.OK != tt.ok || !strings.Contains(r.Detail, tt.detail) {
			t.Errorf("%+v: got %v %q, want %v %q", tt.target, r.OK, r.Detail, tt.ok, tt.detail)
		}
		if _, err := time.ParseDuration(r.Elapsed); err != nil {
			t.Error(err)
		}
	}
}

func TestBadRequestsAreRefused(t *testing.T) {
	web := httptest.NewServer(Handler())
	defer web.Close()
	many := fmt.Sprintf(`{"targets":[%s{}]}`, strings.Repeat("{},", MaxTargets))
	for _, body := range []string{"", "{", `{"target":[]}`, many} {
		response, err := http.Post(web.URL+"/check", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusBadRequest {
			t.Errorf("%.20q gave %s", body, response.Status)
		}
	}
}

func TestServeAndHoldEndWithTheirContext(t *testing.T) {
	for _, args := range [][]string{{"serve", "--listen", "127.0.0.1:0"}, {"results", "--listen", "127.0.0.1:0", "/"}, {"hold"}} {
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- run(ctx, args) }()
		select {
		case err := <-ended:
			t.Fatalf("%v ended at once: %v", args, err)
		case <-time.After(20 * time.Millisecond):
		}
		stop()
		if err := <-ended; err != nil {
			t.Errorf("%v: %v", args, err)
		}
	}
	for _, args := range [][]string{nil, {"x"}, {"serve", "--port", "1"}, {"serve", "x"}, {"results"}, {"results", "a", "b"}} {
		if code := Main(args, io.Discard); code != 2 {
			t.Errorf("%v: exit %d", args, code)
		}
	}
}
