package kube

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// listPage is the number of objects of one page of a list.
const listPage = 500

// EachObject calls visit with the metadata of each object of a resource, page by page. The
// contents of objects do not leave the API server. A list whose pages have expired begins
// again, so an object may be visited twice.
func (c *Client) EachObject(ctx context.Context, resource schema.GroupVersionResource, visit func(*v1.PartialObjectMetadata) error) error {
	return c.EachObjectWith(ctx, resource, "", visit)
}

// EachObjectWith is [Client.EachObject] for the objects that a field selector selects, such as spec.nodeName=n1; all
// when it is empty.
func (c *Client) EachObjectWith(ctx context.Context, resource schema.GroupVersionResource, fields string, visit func(*v1.PartialObjectMetadata) error) error {
	opts := v1.ListOptions{Limit: listPage, FieldSelector: fields}
	for {
		var page *v1.PartialObjectMetadataList
		err := c.retry(ctx, func(ctx context.Context) (err error) {
			page, err = c.metadata.Resource(resource).List(ctx, opts)
			return err
		})
		switch {
		case apierrors.IsResourceExpired(err) && opts.Continue != "":
			opts.Continue = ""
			continue
		case err != nil:
			return fmt.Errorf("listing %s: %w", resource.GroupResource(), err)
		}
		for i := range page.Items {
			if err := visit(&page.Items[i]); err != nil {
				return err
			}
		}
		if opts.Continue = page.Continue; opts.Continue == "" {
			return nil
		}
	}
}

// Rewrite makes the API server write an object to etcd as it is. A server writes an
// unchanged object only when etcd has it in another form, such as encrypted with an
// earlier key. A missing object is no error.
func (c *Client) Rewrite(ctx context.Context, resource schema.GroupVersionResource, namespace, name string) error {
	return ignoreNotFound(c.retryConflict(ctx, func(ctx context.Context) error {
		_, err := c.metadata.Resource(resource).Namespace(namespace).Patch(ctx, name, types.MergePatchType, []byte("{}"), v1.PatchOptions{FieldManager: Manager})
		return err
	}))
}

// maxConflicts is the maximum number of attempts of a request that conflicts with others;
// the API server itself has repeated each one five times.
const maxConflicts = 10

func (c *Client) retryConflict(ctx context.Context, do func(context.Context) error) error {
	for n := 1; ; n++ {
		err := c.retry(ctx, do)
		if !apierrors.IsConflict(err) || n == maxConflicts {
			return err
		}
	}
}
