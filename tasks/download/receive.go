package download

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"deployer/resumable"
)

const (
	headerTimeout = 30 * time.Second // maximum wait for the header of a response
	reportEvery   = 2 * time.Second  // interval of progress reports
)

func (h *Host) client() (*http.Client, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.ResponseHeaderTimeout = headerTimeout
	transport.DisableKeepAlives = true // the client is used for one file
	if h.Proxy != "" {
		proxy, err := url.Parse(h.Proxy)
		if err != nil {
			return nil, err
		}
		transport.Proxy = http.ProxyURL(proxy)
	}
	return &http.Client{Transport: transport}, nil
}

// open requests the file from offset on.
func (h *Host) open(ctx context.Context, client *http.Client, offset int64) (resumable.Content, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, h.URL, nil)
	if err != nil {
		return resumable.Content{}, err
	}
	for name, value := range h.Headers {
		request.Header.Set(name, value)
	}
	return resumable.Get(client, request, offset)
}

// progress describes a download in progress; total is 0 when unknown.
func progress(received, total int64) string {
	text := fmt.Sprintf("downloaded %d MB", received/1e6)
	if total > 0 {
		text += fmt.Sprintf(" of %d MB", total/1e6)
	}
	return text
}
