package httpcheck

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"deployer/tasks/tasktest"
)

func server(t *testing.T, secure bool) *httptest.Server {
	t.Helper()
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/ok":
			_, _ = w.Write([]byte("ok\n"))
		case "/echo":
			w.Header().Set("X-Asked", r.Method+" "+r.Host+" "+r.Header.Get("X-Me"))
		case "/redirect":
			http.Redirect(w, r, "/ok", http.StatusFound)
		default:
			http.Error(w, "not ready: etcd\nmore", http.StatusInternalServerError)
		}
	})
	s := httptest.NewUnstartedServer(handler)
	if secure {
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	return s
}

func TestHTTP(t *testing.T) {
	t.Parallel()
	plain, secure := server(t, false), server(t, true)
	sys := tasktest.New(t)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})
	sys.Write(t, "/ca.crt", string(ca), 0o644)
	sys.Write(t, "/empty.crt", "", 0o644)
	gone := server(t, false)
	gone.Close()
	tests := map[string]struct {
		request HTTP
		want    string // empty: as expected
	}{
		"ok":              {HTTP{URL: plain.URL + "/ok"}, ""},
		"body":            {HTTP{URL: plain.URL + "/ok", Body: "^ok$|^ok\n$"}, ""},
		"expected status": {HTTP{URL: plain.URL + "/x", Status: 500}, ""},
		"no redirect":     {HTTP{URL: plain.URL + "/redirect", Status: 302}, ""},
		"trusted":         {HTTP{URL: secure.URL + "/ok", CA: "/ca.crt"}, ""},
		"named":           {HTTP{URL: secure.URL + "/ok", CA: "/ca.crt", ServerName: "example.com"}, ""},
		"insecure":        {HTTP{URL: secure.URL + "/ok", Insecure: true}, ""},
		"status":          {HTTP{URL: plain.URL + "/x"}, "answered 500 Internal Server Error: not ready: etcd"},
		"other body":      {HTTP{URL: plain.URL + "/ok", Body: "fine"}, `answered "ok", want a match of "fine"`},
		"asked so": {HTTP{URL: plain.URL + "/echo", Method: "HEAD", Headers: map[string]string{"host": "site", "X-Me": "me"},
			AnswerHeaders: map[string]string{"X-Asked": "^HEAD site me$"}}, ""},
		"other header":    {HTTP{URL: plain.URL + "/ok", AnswerHeaders: map[string]string{"X-Asked": "."}}, `answered X-Asked "", want a match of "."`},
		"bad expression":  {HTTP{URL: plain.URL + "/ok", Body: "("}, "body: "},
		"untrusted":       {HTTP{URL: secure.URL + "/ok"}, "certificate"},
		"other name":      {HTTP{URL: secure.URL + "/ok", CA: "/ca.crt", ServerName: "other"}, "not other"},
		"no authority":    {HTTP{URL: secure.URL + "/ok", CA: "/none"}, "reading the CA certificates"},
		"empty authority": {HTTP{URL: secure.URL + "/ok", CA: "/empty.crt"}, "holds no certificate"},
		"no client key":   {HTTP{URL: secure.URL + "/ok", Cert: "/none", Key: "/none"}, "reading the client certificate"},
		"nobody there":    {HTTP{URL: gone.URL}, "connection refused"},
	}
	for name, tt := range tests {
		_, err := tt.request.Do(t.Context(), sys)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: error %v, want %q", name, err, tt.want)
		}
	}
}

func TestClientCertificate(t *testing.T) {
	t.Parallel()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.TLS.PeerCertificates) == 0 {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	s.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	s.StartTLS()
	t.Cleanup(s.Close)
	sys := tasktest.New(t)
	pair := s.TLS.Certificates[0]
	sys.Write(t, "/c.crt", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]})), 0o644)
	key, err := privateKey(pair)
	if err != nil {
		t.Fatal(err)
	}
	sys.Write(t, "/c.key", key, 0o600)
	if _, err := (HTTP{URL: s.URL, Insecure: true, Cert: "/c.crt", Key: "/c.key"}).Do(t.Context(), sys); err != nil {
		t.Error(err)
	}
	if _, err := (HTTP{URL: s.URL, Insecure: true}).Do(t.Context(), sys); err == nil {
		t.Error("answered without a certificate")
	}
}

func TestCheckRows(t *testing.T) {
	t.Parallel()
	s := server(t, false)
	sys := tasktest.New(t)
	change := tasktest.Check(t, sys, &Checks{Checks: []Check{{Name: "a", URL: s.URL + "/ok"}, {Name: "b", URL: s.URL + "/x"}}})
	rows := change.Output["checks"].([]any)
	if a, b := rows[0].(map[string]any), rows[1].(map[string]any); a["ok"] != true || b["ok"] != false || b["check"] != "b" {
		t.Errorf("rows %v", rows)
	}
}

func TestPoll(t *testing.T) {
	t.Parallel()
	tries, said := 0, []string{}
	err := Poll(t.Context(), time.Minute, time.Millisecond, func(s string) { said = append(said, s) }, func(context.Context) error {
		if tries++; tries < 4 {
			return errors.New("not yet")
		}
		return nil
	})
	if err != nil || tries != 4 || len(said) != 1 {
		t.Errorf("%v after %d tries, said %v; want each new reason once", err, tries, said)
	}
	cause := errors.New("the user asked to stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if err := Poll(ctx, time.Minute, time.Millisecond, nil, func(context.Context) error { return errors.New("not yet") }); !errors.Is(err, cause) {
		t.Errorf("error %v, want the cause", err)
	}
}

func privateKey(pair tls.Certificate) (string, error) {
	der, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})), err
}
