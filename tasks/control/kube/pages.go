package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// largePage is the number of objects of one page of a list of large objects. An object has at most
// 1.5 MiB, the limit of a request to etcd.
const largePage = 20

// EachOf calls visit with each object of a resource that has no namespace, decoded to T, page by
// page. Fields that T does not have take no memory. A list whose pages have expired begins again, so
// an object may be visited twice.
func EachOf[T any](ctx context.Context, c *Client, resource schema.GroupVersionResource, visit func(*T)) error {
	return EachOfPages(ctx, c, resource, largePage, visit)
}

// EachOfPages is [EachOf] with pages of another size, in objects: for objects that are known to be small.
func EachOfPages[T any](ctx context.Context, c *Client, resource schema.GroupVersionResource, pageSize int, visit func(*T)) error {
	_, err := eachOfPages(ctx, c, resource, pageSize, func() {}, visit)
	return err
}

// eachOfPages calls again when a list whose pages have expired begins again, and returns the version of the list.
func eachOfPages[T any](ctx context.Context, c *Client, resource schema.GroupVersionResource, pageSize int, again func(), visit func(*T)) (version string, err error) {
	next := ""
	for {
		var page struct {
			Metadata struct{ Continue, ResourceVersion string }
			Items    []T
		}
		query := url.Values{"limit": {strconv.Itoa(pageSize)}}
		if next != "" {
			query.Set("continue", next)
		}
		err := c.retry(ctx, func(ctx context.Context) error {
			return c.read(ctx, resource, query, &page)
		})
		switch {
		case apierrors.IsResourceExpired(err) && next != "":
			next = ""
			again()
			continue
		case err != nil:
			return "", fmt.Errorf("listing %s: %w", resource.GroupResource(), err)
		}
		for i := range page.Items {
			visit(&page.Items[i])
		}
		if next = page.Metadata.Continue; next == "" {
			return page.Metadata.ResourceVersion, nil
		}
	}
}

// read decodes one page of the objects of a resource.
func (c *Client) read(ctx context.Context, resource schema.GroupVersionResource, query url.Values, into any) error {
	resp, err := c.send(ctx, resource, query)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	return json.NewDecoder(resp.Body).Decode(into)
}
