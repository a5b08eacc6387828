package rotation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/flowcontrol"

	"deployer/cluster/encryption"
	"deployer/engine"
	"deployer/tasks/control/kube"
)

// Rewrite is the action `encryption_rewrite`: it makes API servers write again, with the
// first key, all objects that other keys have encrypted. It ends when etcd holds no such
// object. Each written object is an event for its watchers, so the rate is limited.
//
// Before that, the action writes a Secret through each API server, and requires that etcd
// has the Secret encrypted with the first key and that all other API servers can read it.
type Rewrite struct {
	Rate int `yaml:"rate" range:"1.." doc:"Maximum number of objects a second; default 50."`
}

// NewRewrite returns the action with its defaults. At 50 a second, 10000 Secrets take
// about three minutes.
func NewRewrite() *Rewrite { return &Rewrite{Rate: 50} }

// Check counts the objects to write again.
func (r *Rewrite) Check(ctx context.Context, actx engine.ActionContext) (engine.Change, error) {
	if r.Rate < 1 {
		return engine.Change{}, fmt.Errorf("rate %d: it must be at least 1", r.Rate)
	}
	_, _, file, err := load(actx)
	if err != nil || len(file.FormerPrefixes()) == 0 {
		return engine.Change{}, err
	}
	found, err := scan(ctx, actx, file, nil)
	if err != nil {
		return engine.Change{}, err
	}
	return engine.Changed(engine.Effect{Kind: engine.EffectObject, Target: fmt.Sprintf("%d objects", len(found.keys)),
		Action: "write again, encrypted with " + file.Keys()[0]}), nil
}

// Apply writes the objects again. Output: objects, the number of written objects.
func (r *Rewrite) Apply(ctx context.Context, actx engine.ActionContext, _ engine.Change) (engine.Output, error) {
	_, _, file, err := load(actx)
	if err != nil {
		return nil, err
	}
	client, err := kube.Open(ctx, actx)
	if err != nil {
		return nil, err
	}
	found, err := tryKey(ctx, actx, file)
	if err != nil {
		return nil, err
	}
	resources, err := client.NamedResources(ctx, file.Resources())
	if err != nil {
		return nil, err
	}
	w := &writer{client: client, actx: actx, limit: flowcontrol.NewTokenBucketRateLimiter(float32(r.Rate), 1), key: file.Keys()[0]}
	written, err := w.rounds(ctx, file, resources, found)
	return engine.Output{"objects": written}, err
}

// writer writes objects again.
type writer struct {
	client *kube.Client
	actx   engine.ActionContext
	limit  flowcontrol.RateLimiter
	key    string
}

// maxRounds is the maximum number of passes over all objects. The first pass leaves only
// objects that an API server refused to write, for example because a webhook was down.
const maxRounds = 3

// rounds writes stale objects until there are none, and returns the number of written
// objects.
func (w *writer) rounds(ctx context.Context, file *encryption.File, resources []schema.GroupVersionResource, found *stale) (int, error) {
	total := len(found.keys)
	var last error
	for range maxRounds {
		if len(found.keys) == 0 {
			return total, nil
		}
		var err error
		if last, err = w.round(ctx, resources, found); err != nil {
			return 0, err
		}
		if found, err = scan(ctx, w.actx, file, nil); err != nil {
			return 0, err
		}
	}
	switch {
	case len(found.keys) == 0:
		return total, nil
	case last == nil:
		last = errors.New("the resources in the encryption configuration do not include them")
	}
	return total - len(found.keys), fmt.Errorf("%d of %d objects in etcd are not encrypted with %s (%s): %w; the former key is kept: repair the cause, and run the same command again to continue",
		len(found.keys), total, w.key, found, last)
}

// round makes one pass over all objects. last is the last error of a single object, which
// the next pass retries; err ends the rewrite.
func (w *writer) round(ctx context.Context, resources []schema.GroupVersionResource, found *stale) (last, err error) {
	done, reported := 0, time.Now()
	for _, resource := range resources {
		err := w.client.EachObject(ctx, resource, func(o *v1.PartialObjectMetadata) error {
			if !found.mayHave(o.Namespace, o.Name) {
				return nil
			}
			if err := w.limit.Wait(ctx); err != nil {
				return err
			}
			if err := w.client.Rewrite(ctx, resource, o.Namespace, o.Name); err != nil {
				last = fmt.Errorf("%s %s/%s: %w", resource.Resource, o.Namespace, o.Name, err)
				return ctx.Err()
			}
			done++
			if time.Since(reported) > 5*time.Second {
				reported = time.Now()
				w.actx.Progress(fmt.Sprintf("%d of %d objects are encrypted with %s", done, len(found.keys), w.key))
			}
			return nil
		})
		if err != nil {
			return last, err
		}
	}
	w.actx.Progress(fmt.Sprintf("%d objects are encrypted with %s", done, w.key))
	return last, nil
}
