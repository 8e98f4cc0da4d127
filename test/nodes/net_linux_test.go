package nodes_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A namespace is a network namespace.
type namespace struct{ file *os.File }

func thisNamespace() (namespace, error) {
	file, err := os.Open("/proc/thread-self/ns/net")
	return namespace{file}, err
}

// newNamespace makes a namespace with a loopback that has one more address.
func newNamespace(local netip.Addr) (made namespace, err error) {
	err = onThread(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return os.NewSyscallError("unshare", err)
		}
		made, err = thisNamespace()
		return errors.Join(err, raise("lo", true), address("lo:1", local))
	})
	return made, err
}

// do runs f on a thread that is in the namespace. What f starts on other threads is
// not.
func (n namespace) do(f func() error) error {
	return onThread(func() error {
		if err := unix.Setns(int(n.file.Fd()), unix.CLONE_NEWNET); err != nil {
			return os.NewSyscallError("setns", err)
		}
		return f()
	})
}

// within runs start in the namespace on the caller's own thread, which the caller
// keeps, and brings the thread back.
func (n namespace) within(start func() error) error {
	home, err := thisNamespace()
	if err != nil {
		return err
	}
	defer func() { _ = home.file.Close() }()
	if err := unix.Setns(int(n.file.Fd()), unix.CLONE_NEWNET); err != nil {
		return os.NewSyscallError("setns", err)
	}
	return errors.Join(start(), os.NewSyscallError("setns", unix.Setns(int(home.file.Fd()), unix.CLONE_NEWNET)))
}

// onThread runs f on a thread that ends with it.
func onThread(f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // and not unlocked: the thread is of no further use
		done <- f()
	}()
	return <-done
}

// An ifreq is the kernel's struct ifreq, with the parts of its union in use here.
type ifreq struct {
	name  [unix.IFNAMSIZ]byte
	value [24]byte
}

func control(call uintptr, name string, value []byte) error {
	sock, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socket", err)
	}
	defer func() { _ = unix.Close(sock) }()
	var request ifreq
	copy(request.name[:], name)
	copy(request.value[:], value)
	if _, _, code := unix.Syscall(unix.SYS_IOCTL, uintptr(sock), call, uintptr(unsafe.Pointer(&request))); code != 0 {
		return fmt.Errorf("interface %s: %w", name, os.NewSyscallError("ioctl", code))
	}
	return nil
}

// raise takes an interface up or down.
func raise(name string, up bool) error {
	flags := uint16(0)
	if up {
		flags = unix.IFF_UP
	}
	return control(unix.SIOCSIFFLAGS, name, binary.NativeEndian.AppendUint16(nil, flags))
}

// address gives an interface an address, in a network of 24 bits. NAME:1 stands for
// one more of NAME.
func address(name string, ip netip.Addr) error {
	four := ip.As4()
	socket := func(octets []byte) []byte {
		return append(binary.NativeEndian.AppendUint16(nil, unix.AF_INET), append([]byte{0, 0}, octets...)...)
	}
	return errors.Join(
		control(unix.SIOCSIFADDR, name, socket(four[:])),
		control(unix.SIOCSIFNETMASK, name, socket([]byte{255, 255, 255, 0})))
}

// bridge makes a bridge.
func bridge(name string) error {
	sock, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socket", err)
	}
	defer func() { _ = unix.Close(sock) }()
	text := append([]byte(name), 0)
	if _, _, code := unix.Syscall(unix.SYS_IOCTL, uintptr(sock), unix.SIOCBRADDBR, uintptr(unsafe.Pointer(&text[0]))); code != 0 {
		return fmt.Errorf("the bridge %s can't be made: %w", name, os.NewSyscallError("ioctl", code))
	}
	return nil
}

// plug puts an interface into a bridge.
func plug(bridge, name string) error {
	index := make([]byte, 4)
	if err := onInterface(name, func(i uint32) { binary.NativeEndian.PutUint32(index, i) }); err != nil {
		return err
	}
	return control(unix.SIOCBRADDIF, bridge, index)
}

func onInterface(name string, f func(index uint32)) error {
	sock, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socket", err)
	}
	defer func() { _ = unix.Close(sock) }()
	request, err := unix.NewIfreq(name)
	if err != nil {
		return err
	}
	if err := unix.IoctlIfreq(sock, unix.SIOCGIFINDEX, request); err != nil {
		return fmt.Errorf("interface %s: %w", name, err)
	}
	f(request.Uint32())
	return nil
}

// cable makes two interfaces that are each other's end (veth(4)), the far one in
// another namespace.
func cable(near, far string, there namespace) error {
	peer := make([]byte, unix.SizeofIfInfomsg)
	peer = attribute(peer, unix.IFLA_IFNAME, append([]byte(far), 0))
	peer = attribute(peer, unix.IFLA_NET_NS_FD, binary.NativeEndian.AppendUint32(nil, uint32(there.file.Fd())))
	const vethInfoPeer = 1
	info := attribute(nil, unix.IFLA_INFO_KIND, []byte("veth"))
	info = attribute(info, unix.IFLA_INFO_DATA, attribute(nil, vethInfoPeer, peer))
	message := make([]byte, unix.SizeofNlMsghdr+unix.SizeofIfInfomsg)
	message = attribute(message, unix.IFLA_IFNAME, append([]byte(near), 0))
	message = attribute(message, unix.IFLA_LINKINFO, info)
	binary.NativeEndian.PutUint32(message, uint32(len(message)))
	binary.NativeEndian.PutUint16(message[4:], unix.RTM_NEWLINK)
	binary.NativeEndian.PutUint16(message[6:], unix.NLM_F_REQUEST|unix.NLM_F_ACK|unix.NLM_F_CREATE|unix.NLM_F_EXCL)

	sock, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return os.NewSyscallError("socket", err)
	}
	defer func() { _ = unix.Close(sock) }()
	if err := unix.Sendto(sock, message, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return os.NewSyscallError("sendto", err)
	}
	reply := make([]byte, 4096)
	n, _, err := unix.Recvfrom(sock, reply, 0)
	if err != nil {
		return os.NewSyscallError("recvfrom", err)
	}
	if n < unix.SizeofNlMsghdr+4 || binary.NativeEndian.Uint16(reply[4:]) != unix.NLMSG_ERROR {
		return errors.New("netlink answers with what is no acknowledgement")
	}
	if code := int32(binary.NativeEndian.Uint32(reply[unix.SizeofNlMsghdr:])); code != 0 {
		return fmt.Errorf("the interfaces %s and %s can't be made: %w", near, far, syscall.Errno(-code))
	}
	return nil
}

// attribute appends a netlink attribute, padded to four octets.
func attribute(to []byte, kind uint16, value []byte) []byte {
	to = binary.NativeEndian.AppendUint16(to, uint16(4+len(value)))
	to = binary.NativeEndian.AppendUint16(to, kind)
	to = append(to, value...)
	for len(to)%4 != 0 {
		to = append(to, 0)
	}
	return to
}
