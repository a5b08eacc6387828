package resumable

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// Content is a stream of content. The receiver closes it.
type Content struct {
	io.ReadCloser
	// Offset is the offset of the stream in the content, Total the size of the whole
	// content; both in bytes, Total 0 when unknown.
	Offset, Total int64
}

// StatusError is an HTTP response without the requested file.
type StatusError struct {
	Address string // the URL without user and password
	Code    int
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("%s: server answers %d %s", e.Address, e.Code, http.StatusText(e.Code))
}

// Get requests a file from offset on. When the server cannot continue there, because
// it knows no ranges or the file has become shorter, the content starts at 0. Any
// status but 200 and 206 is a *StatusError. Get sets headers of the request.
func Get(client *http.Client, request *http.Request, offset int64) (Content, error) {
	// A compressed response would have another digest.
	request.Header.Set("Accept-Encoding", "identity")
	request.Header.Del("Range")
	if offset > 0 {
		request.Header.Set("Range", fmt.Sprintf("bytes=%d-", offset))
	}
	response, err := client.Do(request)
	if err != nil {
		return Content{}, err
	}
	content := Content{ReadCloser: response.Body, Total: max(response.ContentLength, 0)}
	switch response.StatusCode {
	case http.StatusOK:
		return content, nil
	case http.StatusPartialContent:
		if content.Offset, content.Total = contentRange(response.Header.Get("Content-Range")); content.Offset == offset {
			return content, nil
		}
	}
	_ = response.Body.Close()
	if offset > 0 && (response.StatusCode == http.StatusRequestedRangeNotSatisfiable || response.StatusCode == http.StatusPartialContent) {
		return Get(client, request, 0)
	}
	return Content{}, &StatusError{Address: PublicAddress(request.URL), Code: response.StatusCode}
}

// PublicAddress returns a URL without user and password.
func PublicAddress(u *url.URL) string {
	public := *u
	public.User = nil
	return public.String()
}

// contentRange parses "bytes 100-199/200" into 100 and 200. start is -1 for other
// texts, total 0 when unknown.
func contentRange(header string) (start, total int64) {
	span, whole, _ := strings.Cut(strings.TrimPrefix(header, "bytes "), "/")
	first, _, _ := strings.Cut(span, "-")
	start, err := strconv.ParseInt(first, 10, 64)
	if err != nil {
		return -1, 0
	}
	if total, err = strconv.ParseInt(whole, 10, 64); err != nil {
		total = 0
	}
	return start, total
}
