package calicotest

import (
	"context"
	"slices"

	"deployer/tasks/control/etcd"
)

// Etcd is an etcd cluster of one member with records. Methods that it does not have panic.
type Etcd struct {
	etcd.Member
	Data map[string]etcd.Record
	// BeforeWrite is called before each write; nil: nothing.
	BeforeWrite func(key string)
	revision    int64
}

// NewEtcd returns an empty etcd cluster.
func NewEtcd() *Etcd { return &Etcd{Data: map[string]etcd.Record{}} }

// Open is an [etcd.Opener].
func (m *Etcd) Open(string, string) (etcd.Member, error) { return m, nil }

// Status returns the state of a member that leads.
func (*Etcd) Status(context.Context) (etcd.Status, error) {
	return etcd.Status{MemberID: 1, Leader: 1}, nil
}

// Read succeeds.
func (*Etcd) Read(context.Context) error { return nil }

// Close does nothing.
func (*Etcd) Close() error { return nil }

// Members returns the member, with the address of the host m1.
func (*Etcd) Members(context.Context) ([]etcd.Entry, error) {
	return []etcd.Entry{{ID: 1, Name: "m1", PeerURLs: []string{"https://10.0.0.1:2580"}}}, nil
}

// List reads records in the order of their keys.
func (m *Etcd) List(_ context.Context, from string, limit int64) ([]etcd.Record, error) {
	var keys []string
	for key := range m.Data {
		if key >= from {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	var out []etcd.Record
	for _, key := range keys[:min(int(limit), len(keys))] {
		out = append(out, m.Data[key])
	}
	return out, nil
}

// Write writes a record that has the present revision.
func (m *Etcd) Write(_ context.Context, r etcd.Record) (bool, error) {
	if m.BeforeWrite != nil {
		m.BeforeWrite(r.Key)
	}
	if m.Data[r.Key].Revision != r.Revision {
		return false, nil
	}
	m.Put(r.Key, string(r.Value))
	return true, nil
}

// Put writes a value whatever the present one is.
func (m *Etcd) Put(key, value string) {
	m.revision++
	m.Data[key] = etcd.Record{Key: key, Value: []byte(value), Revision: m.revision}
}

// Delete removes a key.
func (m *Etcd) Delete(_ context.Context, key string) error {
	delete(m.Data, key)
	return nil
}
