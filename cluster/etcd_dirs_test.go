package cluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEtcdDirs(t *testing.T) {
	for _, c := range []struct{ args, want []string }{
		{[]string{"--data-dir=/var/lib/etcd", "--name=m1"}, []string{"/var/lib/etcd"}},
		{[]string{"--data-dir=/srv/etcd", "--wal-dir=/fast/wal"}, []string{"/srv/etcd", "/fast/wal"}},
		{[]string{"--wal-dir="}, []string{}},
	} {
		if diff := cmp.Diff(c.want, etcdDirs(c.args)); diff != "" {
			t.Error(diff)
		}
	}
}
