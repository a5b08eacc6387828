package cluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEtcdDirs(t *testing.T) {
	for _, c := range []struct {
		args, dirs, flags []string
		log               string
	}{
		{[]string{"--data-dir=/var/lib/etcd", "--name=m1"}, []string{"/var/lib/etcd"}, []string{"--data-dir=/var/lib/etcd", "--name=m1"}, "/var/lib/etcd/member/wal"},
		{[]string{"--data-dir=/srv/etcd", "--wal-dir=/fast/etcd"}, []string{"/srv/etcd", "/fast/etcd"}, []string{"--data-dir=/srv/etcd", "--wal-dir=/fast/etcd/wal"}, "/fast/etcd/wal"},
		{[]string{"--data-dir=/srv/etcd", "--wal-dir="}, []string{"/srv/etcd"}, []string{"--data-dir=/srv/etcd", "--wal-dir="}, "/srv/etcd/member/wal"},
	} {
		dirs, log, flags := etcdDirs(c.args)
		if diff := cmp.Diff([]any{c.dirs, c.log, c.flags}, []any{dirs, log, flags}); diff != "" {
			t.Error(diff)
		}
	}
}
