package download

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"deployer/engine"
)

const (
	headerTimeout = 30 * time.Second // until a server begins its answer
	stall         = time.Minute      // without a byte, after which a download is given up
	reportEvery   = 2 * time.Second
)

// final is an error that no other attempt would mend.
type final struct{ error }

func (f *final) Unwrap() error { return f.error }

func (h *Host) client() (*http.Client, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.ResponseHeaderTimeout = headerTimeout
	transport.DisableKeepAlives = true // nothing else will be asked
	if h.Proxy != "" {
		proxy, err := url.Parse(h.Proxy)
		if err != nil {
			return nil, err
		}
		transport.Proxy = http.ProxyURL(proxy)
	}
	return &http.Client{Transport: transport}, nil
}

// receive asks for what is missing, and reports whether the server went on where
// the content ended.
func (h *Host) receive(ctx context.Context, sys engine.System, p *partial) (continued bool, err error) {
	client, err := h.client()
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	guard := time.AfterFunc(stall+headerTimeout, func() { cancel(fmt.Errorf("nothing came for %s", stall)) })
	defer guard.Stop()
	answer, err := h.ask(ctx, client, p.size)
	if err != nil {
		return false, causeOf(ctx, err)
	}
	defer answer.Body.Close()
	if p.size > 0 && !goesOn(answer, p.size) {
		if err := p.reset(); err != nil {
			return false, err
		}
		if answer.StatusCode != http.StatusOK {
			return false, errors.New("the server did not go on where the download ended; it begins anew")
		}
	}
	continued = p.size > 0
	total := int64(0)
	if answer.ContentLength > 0 {
		total = p.size + answer.ContentLength
	}
	m := &meter{to: p, sys: sys, total: total, touch: func() { guard.Reset(stall) }, said: time.Now()}
	if _, err := io.Copy(m, answer.Body); err != nil {
		return continued, fmt.Errorf("after %d bytes: %w", p.size, causeOf(ctx, err))
	}
	if p.size < total {
		return continued, fmt.Errorf("after %d of %d bytes: %w", p.size, total, io.ErrUnexpectedEOF)
	}
	return continued, nil
}

// ask sends the request. An answer that is neither the content, a part of it nor
// the message that there is no such part is an error.
func (h *Host) ask(ctx context.Context, client *http.Client, offset int64) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, h.URL, nil)
	if err != nil {
		return nil, err
	}
	for name, value := range h.Headers {
		request.Header.Set(name, value)
	}
	// Never a compressed form of it: the digest is of the plain one.
	request.Header.Set("Accept-Encoding", "identity")
	if offset > 0 {
		request.Header.Set("Range", fmt.Sprintf("bytes=%d-", offset))
	}
	answer, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	switch code := answer.StatusCode; {
	case code == http.StatusOK, code == http.StatusPartialContent, code == http.StatusRequestedRangeNotSatisfiable && offset > 0:
		return answer, nil
	case code >= 500, code == http.StatusTooManyRequests, code == http.StatusRequestTimeout:
		err = fmt.Errorf("%s answers %s", request.URL.Redacted(), answer.Status)
	default:
		err = &final{fmt.Errorf("%s answers %s", request.URL.Redacted(), answer.Status)}
	}
	_ = answer.Body.Close()
	return nil, err
}

// goesOn reports whether the response continues at offset.
func goesOn(answer *http.Response, offset int64) bool {
	span, _, _ := strings.Cut(strings.TrimPrefix(answer.Header.Get("Content-Range"), "bytes "), "-")
	start, err := strconv.ParseInt(span, 10, 64)
	return answer.StatusCode == http.StatusPartialContent && err == nil && start == offset
}

// causeOf prefers why the context ended over "context canceled".
func causeOf(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// meter passes content on and says how far it is.
type meter struct {
	to    *partial
	sys   engine.System
	total int64 // 0 when unknown
	touch func()
	said  time.Time
}

func (m *meter) Write(content []byte) (int, error) {
	n, err := m.to.Write(content)
	m.touch()
	if now := time.Now(); now.Sub(m.said) >= reportEvery {
		m.said = now
		text := fmt.Sprintf("downloaded %d MB", m.to.size/1e6)
		if m.total > 0 {
			text += fmt.Sprintf(" of %d MB", m.total/1e6)
		}
		m.sys.Progress(text)
	}
	return n, err
}
