// Package keybackup saves the keys of a cluster beside a snapshot of etcd, and reads them
// for a restore: the authorities with their keys, the service-account keys, the encryption
// configuration and the password of the BGP sessions.
//
// The keys travel as a tar archive that is encrypted with age
// (https://age-encryption.org) in the memory of the controller. The paths in the archive are
// those on masters without the leading slash, so `age -d -i KEY FILE | tar -x -C /` puts the
// files back without deployer.
package keybackup
