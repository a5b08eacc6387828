package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"deployer/tasks/poll"
)

// Versioned is the part of the metadata of an object by which a watch continues.
type Versioned interface{ Version() string }

// Follower receives the objects of a resource and their changes. Its functions are called one at a time.
type Follower[T Versioned] struct {
	// Begin is called before all objects come anew: what is known is forgotten.
	Begin func()
	// Set is called with each object that exists, and after each change of one.
	Set func(T)
	// Delete is called with an object that has been deleted.
	Delete func(T)
	// Synced is called when all objects have come.
	Synced func()
}

// watchTime is the least time after which an API server ends a watch; client-go has the same (tools/cache,
// minWatchTimeout, up to twice as much). The watch continues behind its last event.
const watchTime = 5 * time.Minute

// shortWatch is the time that a watch has at least lasted before the next one begins: a server that ends each at once must
// not be asked without a pause.
const shortWatch = time.Second

// Follow lists the objects of a resource that has no namespace, page by page, and then watches them. It returns an error
// when the watch cannot continue behind the last event, such as when the API server stops: then all objects must be
// read again.
func Follow[T Versioned](ctx context.Context, c *Client, resource schema.GroupVersionResource, pageSize int, f Follower[T]) error {
	f.Begin()
	version, err := eachOfPages(ctx, c, resource, pageSize, f.Begin, func(o *T) { f.Set(*o) })
	if err != nil {
		return err
	}
	f.Synced()
	for {
		began := time.Now()
		if version, err = watch(ctx, c, resource, version, f); err == nil && time.Since(began) < shortWatch {
			err = poll.Sleep(ctx, shortWatch)
		}
		if err != nil {
			return fmt.Errorf("watching %s: %w", resource.GroupResource(), err)
		}
	}
}

// watch receives the changes behind a version until the API server ends the watch, and returns the version of the last.
func watch[T Versioned](ctx context.Context, c *Client, resource schema.GroupVersionResource, version string, f Follower[T]) (string, error) {
	query := url.Values{"watch": {"1"}, "allowWatchBookmarks": {"true"}, "resourceVersion": {version},
		"timeoutSeconds": {strconv.Itoa(int((watchTime + rand.N(watchTime)).Seconds()))}}
	resp, err := c.send(ctx, resource, query)
	if err != nil {
		return version, err
	}
	defer func() { _ = resp.Body.Close() }()
	for events := json.NewDecoder(resp.Body); ; {
		var event struct {
			Type   string
			Object json.RawMessage
		}
		var object T
		err := events.Decode(&event)
		if err == nil && event.Type != "ERROR" { // whose object is a Status
			err = json.Unmarshal(event.Object, &object)
		}
		switch {
		case errors.Is(err, io.EOF):
			return version, nil
		case err != nil:
			return version, err
		case event.Type == "ERROR":
			return version, errors.New("the API server has not kept all changes")
		}
		version = object.Version()
		switch event.Type {
		case "ADDED", "MODIFIED":
			f.Set(object)
		case "DELETED":
			f.Delete(object)
		}
	}
}

// send requests the objects of a resource that has no namespace. The caller closes the body of the answer.
func (c *Client) send(ctx context.Context, resource schema.GroupVersionResource, query url.Values) (*http.Response, error) {
	prefix := "/apis/"
	if resource.Group == "" {
		prefix = "/api/"
	}
	path := prefix + resource.GroupVersion().String() + "/" + resource.Resource
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url+path+"?"+query.Encode(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", "deployer")
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		_ = resp.Body.Close()
		return nil, apierrors.NewGenericServerResponse(resp.StatusCode, http.MethodGet, resource.GroupResource(), "", "", 0, false)
	}
	return resp, nil
}
