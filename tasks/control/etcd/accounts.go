package etcd

import (
	"context"
	"errors"
	"slices"

	"go.etcd.io/etcd/api/v3/authpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"deployer/cluster"
)

// Accounts reads and writes the users and roles of an etcd cluster. All calls may be repeated.
type Accounts interface {
	Auth(ctx context.Context) (Auth, error)
	// AddUser adds a user without a password, and a role of the same name that the user has.
	AddUser(ctx context.Context, name string) error
	Grant(ctx context.Context, role string, right cluster.EtcdRight) error
	Revoke(ctx context.Context, role string, key KeyRange) error
	// EnableAuth adds the user root, who has all rights, and refuses all others what they were not
	// granted.
	EnableAuth(ctx context.Context) error
}

// Auth are the users and roles of an etcd cluster.
type Auth struct {
	Enabled bool
	Users   map[string][]string   // roles by user
	Roles   map[string][]KeyRange // rights by role
}

// KeyRange is a right to a range of keys; End is empty for one key.
type KeyRange struct {
	Key, End    string
	Read, Write bool
}

// rangeOf returns the range of keys of a right.
func rangeOf(r cluster.EtcdRight) KeyRange {
	return KeyRange{Key: r.Prefix, End: clientv3.GetPrefixRangeEnd(r.Prefix), Read: true, Write: r.Write}
}

func (r *remote) Auth(ctx context.Context) (Auth, error) {
	out := Auth{Users: map[string][]string{}, Roles: map[string][]KeyRange{}}
	status, err := r.client.AuthStatus(ctx)
	if err != nil {
		return out, plain(err)
	}
	out.Enabled = status.Enabled
	users, err := r.client.UserList(ctx)
	if err != nil {
		return out, plain(err)
	}
	for _, name := range users.Users {
		user, err := r.client.UserGet(ctx, name)
		if err != nil {
			return out, plain(err)
		}
		out.Users[name] = user.Roles
	}
	roles, err := r.client.RoleList(ctx)
	if err != nil {
		return out, plain(err)
	}
	for _, name := range roles.Roles {
		role, err := r.client.RoleGet(ctx, name)
		if err != nil {
			return out, plain(err)
		}
		out.Roles[name] = []KeyRange{}
		for _, p := range role.Perm {
			out.Roles[name] = append(out.Roles[name], KeyRange{
				Key: string(p.Key), End: string(p.RangeEnd),
				Read:  p.PermType != authpb.WRITE,
				Write: p.PermType != authpb.READ,
			})
		}
		slices.SortFunc(out.Roles[name], compareRanges)
	}
	return out, nil
}

func (r *remote) AddUser(ctx context.Context, name string) error {
	if _, err := r.client.RoleAdd(ctx, name); err != nil && !errors.Is(plain(err), rpctypes.ErrRoleAlreadyExist) {
		return plain(err)
	}
	return r.addUser(ctx, name)
}

func (r *remote) addUser(ctx context.Context, name string) error {
	_, err := r.client.UserAddWithOptions(ctx, name, "", &clientv3.UserAddOptions{NoPassword: true})
	if err != nil && !errors.Is(plain(err), rpctypes.ErrUserAlreadyExist) {
		return plain(err)
	}
	_, err = r.client.UserGrantRole(ctx, name, name)
	return plain(err)
}

func (r *remote) Grant(ctx context.Context, role string, right cluster.EtcdRight) error {
	kind := clientv3.PermissionType(clientv3.PermRead)
	if right.Write {
		kind = clientv3.PermissionType(clientv3.PermReadWrite)
	}
	keys := rangeOf(right)
	_, err := r.client.RoleGrantPermission(ctx, role, keys.Key, keys.End, kind)
	return plain(err)
}

func (r *remote) Revoke(ctx context.Context, role string, key KeyRange) error {
	_, err := r.client.RoleRevokePermission(ctx, role, key.Key, key.End)
	return plain(err)
}

func (r *remote) EnableAuth(ctx context.Context) error {
	if err := r.AddUser(ctx, cluster.EtcdRoot); err != nil {
		return err
	}
	_, err := r.client.AuthEnable(ctx)
	return plain(err)
}
