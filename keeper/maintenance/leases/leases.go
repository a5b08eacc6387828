// Package leases reads and takes Leases by which nodes pass in turn, and those that remember a thread of messages.
package leases

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"deployer/keeper/maintenance/profile"
	"deployer/tasks/control/kube"
)

// manager is the field manager of changes.
const manager = "deployer-maintenance"

// TakenError reports that another holder has taken a lease in the meantime.
type TakenError struct {
	Key    profile.LeaseKey
	Holder string
}

func (e *TakenError) Error() string {
	return fmt.Sprintf("lease %s was taken by %s in the meantime", e.Key, e.Holder)
}

// Read returns a Lease; ok is false when there is none.
func Read(ctx context.Context, c *kube.Client, key profile.LeaseKey) (lease profile.Lease, ok bool, err error) {
	object, err := read(ctx, c, key)
	if err != nil || object == nil {
		return profile.Lease{}, false, err
	}
	lease, err = decode(key, object)
	return lease, err == nil, err
}

// Take makes holder the holder of a lease from now on, for a duration in whole seconds, if the lease is free or holder
// has it already. It creates a missing one, and fails with a *TakenError when another client was faster.
func Take(ctx context.Context, c *kube.Client, key profile.LeaseKey, holder string, now time.Time, d time.Duration) error {
	object, err := read(ctx, c, key)
	if err != nil {
		return err
	}
	if object == nil {
		return create(ctx, c, key, holder, now, d)
	}
	is, err := decode(key, object)
	if err != nil {
		return err
	}
	if is.Holder != holder && !is.Free(now) {
		return &TakenError{key, is.Holder}
	}
	transitions := int32(0)
	if n := object.Spec.LeaseTransitions; n != nil {
		transitions = *n + 1
	}
	stamp := v1.MicroTime{Time: now.UTC()}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": object.ResourceVersion},
		"spec": map[string]any{"holderIdentity": holder, "acquireTime": stamp, "renewTime": stamp,
			"leaseDurationSeconds": seconds(d), "leaseTransitions": transitions},
	})
	if err != nil {
		return err
	}
	_, err = c.Patch(ctx, kube.LeaseKind(), key.Namespace, key.Name, patch, manager)
	if apierrors.IsConflict(err) {
		return confirm(ctx, c, key, holder, now)
	}
	if err != nil {
		return fmt.Errorf("taking lease %s: %w", key, err)
	}
	return nil
}

// create creates a lease. Creation of an object that exists is no error for the client, so the result is read.
func create(ctx context.Context, c *kube.Client, key profile.LeaseKey, holder string, now time.Time, d time.Duration) error {
	stamp, duration := v1.MicroTime{Time: now.UTC()}, seconds(d)
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&coordinationv1.Lease{
		TypeMeta:   v1.TypeMeta{APIVersion: "coordination.k8s.io/v1", Kind: "Lease"},
		ObjectMeta: v1.ObjectMeta{Namespace: key.Namespace, Name: key.Name},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, AcquireTime: &stamp, RenewTime: &stamp, LeaseDurationSeconds: &duration},
	})
	if err != nil {
		return err
	}
	if err := c.Create(ctx, &unstructured.Unstructured{Object: content}); err != nil {
		return fmt.Errorf("creating lease %s: %w", key, err)
	}
	return confirm(ctx, c, key, holder, now)
}

// confirm returns nil if holder has taken the lease at this time: an attempt that seemed to fail may have been stored.
func confirm(ctx context.Context, c *kube.Client, key profile.LeaseKey, holder string, now time.Time) error {
	is, ok, err := Read(ctx, c, key)
	if err == nil && (!ok || is.Holder != holder || !is.Renewed.Equal(now.Truncate(time.Microsecond))) {
		err = &TakenError{key, is.Holder}
	}
	return err
}

// seconds rounds up, so that a lease never ends early.
func seconds(d time.Duration) int32 { return int32((d + time.Second - 1) / time.Second) }

func read(ctx context.Context, c *kube.Client, key profile.LeaseKey) (*coordinationv1.Lease, error) {
	o, err := c.Get(ctx, kube.LeaseKind(), key.Namespace, key.Name)
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // a missing lease is free
	}
	if err != nil {
		return nil, fmt.Errorf("reading lease %s: %w", key, err)
	}
	var lease coordinationv1.Lease
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &lease); err != nil {
		return nil, fmt.Errorf("reading lease %s: %w", key, err)
	}
	return &lease, nil
}

func decode(key profile.LeaseKey, object *coordinationv1.Lease) (profile.Lease, error) {
	s := object.Spec
	if s.RenewTime == nil || s.LeaseDurationSeconds == nil || s.HolderIdentity == nil {
		return profile.Lease{}, fmt.Errorf("lease %s has no holderIdentity, renewTime or leaseDurationSeconds; delete it, and the next node creates it again", key)
	}
	return profile.Lease{Holder: *s.HolderIdentity, Renewed: s.RenewTime.Time, Duration: time.Duration(*s.LeaseDurationSeconds) * time.Second}, nil
}
