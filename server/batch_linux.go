package server

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// batchSize is how many queries one system call takes at most: twice as many
	// gain nothing, half as many cost 2 %.
	batchSize = 64
	// queryStride keeps the starts of the buffers apart in the processor's
	// caches, where octets 4096 apart contend for the same few lines.
	queryStride = maxQuery + 192
	// sendTimeout bounds how long a full send queue may hold a loop; the reply
	// is then given up.
	sendTimeout = time.Second
	// drainPause is the time between two looks at the queue of a socket that was
	// taken out of use.
	drainPause = time.Millisecond
	// drainRest bounds, where the system can't tell, how long a query may be on its
	// way from the network's queue into that of a socket which was chosen for it.
	drainRest = 50 * time.Millisecond
	// membarrierGlobal is MEMBARRIER_CMD_GLOBAL of membarrier(2).
	membarrierGlobal = 1
)

// openUDP opens a UDP address: one batchSocket a loop, of which the system
// chooses one for each client port (SO_REUSEPORT).
//
// The first socket is bound before it may share its port, so that a port which
// anybody has is "in use", unless both sides were told to share. After that, a
// program of the same user that itself asks to share would get its part of the
// queries; no name server does so by mistake, since the TCP port is not shared.
func openUDP(ctx context.Context, o udpOptions) (all []packetSocket, bound netip.AddrPort, err error) {
	if o.plain {
		return openPlain(ctx, o)
	}
	bound = o.addr
	for range o.loops {
		socket, err := openBatch(ctx, bound, o.share || len(all) > 0)
		if err != nil {
			for _, opened := range all {
				opened.close()
			}
			return nil, o.addr, err
		}
		all = append(all, socket)
		bound = netip.AddrPortFrom(o.addr.Addr(), socket.bound.Port())
		if o.loops > 1 && len(all) == 1 {
			if err := shareDescriptor(uintptr(socket.fd)); err != nil {
				socket.close()
				return nil, o.addr, err
			}
		}
	}
	return all, bound, nil
}

// sharePort is a net.ListenConfig.Control that lets several sockets have one
// port.
func sharePort(_, _ string, raw syscall.RawConn) error {
	var failed error
	if err := raw.Control(func(fd uintptr) { failed = shareDescriptor(fd) }); err != nil {
		return err
	}
	return failed
}

func shareDescriptor(fd uintptr) error {
	return os.NewSyscallError("setsockopt", unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1))
}

// A batchSocket is a UDP socket that is read and written by system calls for
// many datagrams each (recvmmsg(2), sendmmsg(2)), outside of Go's poller: no
// goroutine a packet, no allocation. When one query waits, it is answered at
// once.
//
// Only a read that will wait is made known to the scheduler (Syscall6). A call
// that comes back at once is not (RawSyscall6): it lasts longer than the 20 µs
// after which the scheduler's monitor would take the loop's processor from it,
// and give it back at once, at a cost of 15 % of all. So a stop of the world
// may wait for one batch to be sent, some 0.1 ms; and the loop gives way by
// itself after each full batch.
type batchSocket struct {
	bound   netip.AddrPort
	control bool // as plainSocket has it
	retired chan struct{}
	retire  sync.Once // closes retired

	// mu guards fd, which close sets to -1, for sendLater. The loop reads it once.
	mu sync.RWMutex
	fd int
}

// openBatch binds a socket through package net, which knows the families and
// the errors, and takes its descriptor from it.
func openBatch(ctx context.Context, addr netip.AddrPort, share bool) (*batchSocket, error) {
	conn, err := listenUDP(ctx, addr, share)
	if err != nil {
		return nil, err
	}
	plain, err := newPlainSocket(conn, addr.Addr())
	if err != nil {
		return nil, err
	}
	defer plain.close()
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, err
	}
	u := &batchSocket{bound: conn.LocalAddr().(*net.UDPAddr).AddrPort(), control: plain.control, retired: make(chan struct{}), fd: -1}
	var failed error
	if err := raw.Control(func(fd uintptr) {
		u.fd, failed = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0)
	}); err != nil {
		return nil, err
	}
	if failed != nil {
		return nil, os.NewSyscallError("fcntl", failed)
	}
	timeout := unix.NsecToTimeval(int64(sendTimeout))
	failed = errors.Join(
		os.NewSyscallError("fcntl", unix.SetNonblock(u.fd, false)),
		os.NewSyscallError("setsockopt", unix.SetsockoptTimeval(u.fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &timeout)))
	if failed != nil {
		u.close()
		return nil, failed
	}
	return u, nil
}

// wake retires the socket and wakes its loop. Connected to itself, it is passed
// over for new queries, which go to other processes that share the port; those
// in its queue are answered. Shut down, a waiting read returns: that the error
// is "not connected", where connecting has failed, changes nothing.
func (u *batchSocket) wake() {
	defer u.retire.Do(func() { close(u.retired) })
	u.mu.RLock()
	defer u.mu.RUnlock()
	if u.fd < 0 {
		return
	}
	_ = unix.Connect(u.fd, selfAddress(u.bound))
	_ = unix.Shutdown(u.fd, unix.SHUT_RD)
}

// selfAddress is the socket's own address; for all addresses, loopback's.
func selfAddress(local netip.AddrPort) unix.Sockaddr {
	addr, port := local.Addr(), int(local.Port())
	if addr.Is4() {
		if addr.IsUnspecified() {
			addr = netip.AddrFrom4([4]byte{127, 0, 0, 1})
		}
		return &unix.SockaddrInet4{Port: port, Addr: addr.As4()}
	}
	if addr.IsUnspecified() {
		addr = netip.IPv6Loopback()
	}
	return &unix.SockaddrInet6{Port: port, Addr: addr.As16(), ZoneId: zoneIndex(addr)}
}

// zoneIndex is the interface of a link-local address; 0 without one.
func zoneIndex(addr netip.Addr) uint32 {
	if addr.Zone() == "" {
		return 0
	}
	link, err := net.InterfaceByName(addr.Zone())
	if err != nil {
		return 0 // it has gone: what is sent there fails
	}
	return uint32(link.Index)
}

func (u *batchSocket) close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.fd >= 0 {
		_ = unix.Close(u.fd)
		u.fd = -1
	}
}

func (u *batchSocket) sendLater(reply []byte, to netip.AddrPort, control []byte) error {
	u.mu.RLock()
	defer u.mu.RUnlock()
	if u.fd < 0 {
		return net.ErrClosed
	}
	addr := to.Addr()
	var name unix.Sockaddr
	if u.bound.Addr().Is4() {
		name = &unix.SockaddrInet4{Port: int(to.Port()), Addr: addr.Unmap().As4()}
	} else {
		name = &unix.SockaddrInet6{Port: int(to.Port()), Addr: addr.As16(), ZoneId: zoneIndex(addr)}
	}
	_, err := unix.SendmsgN(u.fd, reply, control, name, 0)
	return os.NewSyscallError("sendmsg", err)
}

// local is as plainSocket has it.
func (u *batchSocket) local(control []byte) netip.AddrPort {
	return asked(u.bound, u.control, control)
}

// serve runs the loop.
func (u *batchSocket) serve(ctx context.Context, w *worker) error {
	u.mu.RLock()
	fd := u.fd
	u.mu.RUnlock()

	b := newBatch(u, w.responder.maxUDP())
	full := false
	for {
		n, errno := b.receive(fd, full)
		full = n == batchSize // there may be more
		if ctx.Err() != nil {
			b.answer(fd, n, w)
			<-u.retired
			drain(fd, b, w)
			return nil
		}
		switch errno {
		case 0:
			b.answer(fd, n, w)
			if full {
				runtime.Gosched()
			}
		case unix.EINTR, unix.EAGAIN:
		case unix.EBADF:
			return os.NewSyscallError("recvmmsg", errno)
		default:
			w.trouble("reading a query over UDP failed", os.NewSyscallError("recvmmsg", errno))
			pause(ctx, readPause)
		}
	}
}

// drain answers what is in the socket's queue, and what reaches it yet, to the last
// query. The bound of one round is far above what a queue holds.
func drain(fd int, b *batch, w *worker) {
	settled := make(chan struct{})
	go func() {
		settle()
		close(settled)
	}()
	pause := time.NewTicker(drainPause)
	defer pause.Stop()
	for last := false; ; {
		for range udpReadBuffer / headerSize / batchSize {
			n, errno := b.receive(fd, true)
			if errno != 0 || n == 0 {
				break
			}
			b.answer(fd, n, w)
		}
		if last {
			return
		}
		select {
		case <-settled:
			last = true
		case <-pause.C:
		}
	}
}

// settle returns when each query for which the system chose a socket before the
// call is in that socket's queue. The system chooses and queues in one critical
// section of read-copy-update, and this barrier returns when all sections that had
// begun are over. Where it is refused (a processor without ticks, a filter of
// system calls), time has to do.
func settle() {
	if _, _, errno := unix.Syscall(unix.SYS_MEMBARRIER, membarrierGlobal, 0, 0); errno != 0 {
		rest := time.NewTimer(drainRest)
		defer rest.Stop()
		<-rest.C
	}
}

// A messageHeader is struct mmsghdr of recvmmsg(2).
type messageHeader struct {
	unix.Msghdr
	size uint32 // octets received or sent
}

// A batch is the memory of one loop: headers and buffers, linked once.
type batch struct {
	socket  *batchSocket
	control bool

	queries  [batchSize]messageHeader
	replies  [batchSize]messageHeader
	arrivals [batchSize]unix.Iovec
	leavings [batchSize]unix.Iovec
	// peers has room for an address of either family.
	peers    [batchSize]unix.RawSockaddrInet6
	controls [batchSize][controlSize]byte
	outcomes [batchSize]Outcome // of replies, by place in replies
	shown    [batchSize]shown   // the same, where there is a tap

	in  []byte // batchSize buffers
	out []byte // replies one behind the other
}

func newBatch(socket *batchSocket, maxReply int) *batch {
	b := &batch{socket: socket, control: socket.control, in: make([]byte, batchSize*queryStride), out: make([]byte, batchSize*maxReply)}
	for i := range b.queries {
		b.arrivals[i].Base = &b.in[i*queryStride]
		b.arrivals[i].SetLen(maxQuery)
		query, reply := &b.queries[i], &b.replies[i]
		query.Name = (*byte)(unsafe.Pointer(&b.peers[i]))
		query.Iov, reply.Iov = &b.arrivals[i], &b.leavings[i]
		query.SetIovlen(1)
		reply.SetIovlen(1)
		b.reset(i)
	}
	return b
}

// reset gives the system the whole room of a query again.
func (b *batch) reset(i int) {
	query := &b.queries[i]
	query.Namelen = unix.SizeofSockaddrInet6
	if b.control {
		query.Control = &b.controls[i][0]
		query.SetControllen(controlSize)
	}
}

// receive takes what has come: at once, which is EAGAIN where that is nothing,
// or as soon as there is something. Nothing at all comes from a socket that was
// shut down.
func (b *batch) receive(fd int, atOnce bool) (int, unix.Errno) {
	var n uintptr
	var errno unix.Errno
	first := uintptr(unsafe.Pointer(&b.queries))
	if atOnce {
		n, _, errno = unix.RawSyscall6(unix.SYS_RECVMMSG, uintptr(fd), first, batchSize, unix.MSG_DONTWAIT, 0, 0)
	} else {
		n, _, errno = unix.Syscall6(unix.SYS_RECVMMSG, uintptr(fd), first, batchSize, unix.MSG_WAITFORONE, 0, 0)
	}
	if errno != 0 {
		return 0, errno
	}
	return int(n), 0
}

// answer answers the first n queries and sends the replies together. The clock
// is read once for all of them.
func (b *batch) answer(fd, n int, w *worker) {
	if n == 0 {
		return
	}
	start := time.Now()
	seconds := uint32(start.Unix())
	replies, used, passed := 0, 0, 0
	for i := range n {
		sender, ok := peerOf(&b.peers[i], b.queries[i].Namelen)
		if !ok {
			b.reset(i) // nobody: a socket that was shut down says so
			continue
		}
		from := i * queryStride
		query, client, ok := w.unwrap(b.in[from:from+int(b.queries[i].size)], sender)
		if !ok {
			w.observe(Outcome{Transport: UDP, Dropped: DropProxy})
			b.reset(i)
			continue
		}
		peer := Peer{Addr: client, Transport: UDP, Time: seconds}
		reply, outcome := w.handle(b.out[used:used], query, peer, start)
		switch {
		case outcome.PassOn != nil:
			passed++
			w.passOn(query, peer, outcome.PassOn, start, returnTo(b.socket, sender, b.controlOf(i), b.socket.local))
			b.reset(i)
		case outcome.Dropped != Answered:
			w.observe(outcome)
			if w.tap != nil {
				w.seen(peer, b.socket.local(b.controlOf(i)), query, nil, outcome, start)
			}
			b.reset(i)
		default:
			if w.tap != nil {
				b.shown[replies] = shown{peer, b.socket.local(b.controlOf(i)), query, reply, start}
			}
			used += len(reply)
			b.prepare(replies, i, reply)
			b.outcomes[replies] = outcome
			replies++
		}
	}
	b.send(fd, replies, w)
	w.sample(UDP, n-passed, start)
}

// A shown query waits for its reply to be sent.
type shown struct {
	peer         Peer
	local        netip.AddrPort
	query, reply []byte
	start        time.Time
}

// controlOf is what came with query i besides its octets.
func (b *batch) controlOf(i int) []byte {
	if !b.control {
		return nil
	}
	return b.controls[i][:b.queries[i].Controllen]
}

// prepare puts a reply to query i at the given place.
func (b *batch) prepare(place, i int, reply []byte) {
	out, query := &b.replies[place], &b.queries[i]
	out.Name, out.Namelen = query.Name, query.Namelen
	b.leavings[place].Base = unsafe.SliceData(reply)
	b.leavings[place].SetLen(len(reply))
	if b.control {
		control := replyControl(b.controlOf(i))
		out.Control = unsafe.SliceData(control)
		out.SetControllen(len(control))
	}
	b.reset(i)
}

// send sends the first n replies. One that can't be sent, since its peer's
// address can't be reached or was forged, keeps none of the others back.
func (b *batch) send(fd, n int, w *worker) {
	for sent := 0; sent < n; {
		done, errno := b.sendSome(fd, sent, n)
		switch errno {
		case 0:
		case unix.EINTR:
			continue
		default:
			b.outcomes[sent] = Outcome{Transport: UDP, Dropped: DropWrite}
			done = 1
		}
		for i := sent; i < sent+done; i++ {
			w.observe(b.outcomes[i])
			if w.tap != nil {
				t := &b.shown[i]
				w.seen(t.peer, t.local, t.query, t.reply, b.outcomes[i], t.start)
			}
		}
		sent += done
	}
	clear(b.outcomes[:n])
}

// sendSome sends replies from the given one on, as many as the system takes,
// or returns the error of the first. Where the send queue is full, it waits
// for room, sendTimeout at most.
func (b *batch) sendSome(fd, from, to int) (int, unix.Errno) {
	first, count := uintptr(unsafe.Pointer(&b.replies[from])), uintptr(to-from)
	n, _, errno := unix.RawSyscall6(unix.SYS_SENDMMSG, uintptr(fd), first, count, unix.MSG_DONTWAIT, 0, 0)
	if errno == unix.EAGAIN {
		n, _, errno = unix.Syscall6(unix.SYS_SENDMMSG, uintptr(fd), first, count, 0, 0, 0)
	}
	if errno != 0 {
		return 0, errno
	}
	return int(n), 0
}

// peerOf reads an address as the system writes it. The zone of a link-local
// one is left out: it is needed by the reply, which takes the system's form,
// and by no rule about peers.
func peerOf(name *unix.RawSockaddrInet6, size uint32) (netip.AddrPort, bool) {
	port := binary.BigEndian.Uint16((*[2]byte)(unsafe.Pointer(&name.Port))[:])
	switch {
	case name.Family == unix.AF_INET && size >= unix.SizeofSockaddrInet4:
		four := (*unix.RawSockaddrInet4)(unsafe.Pointer(name))
		return netip.AddrPortFrom(netip.AddrFrom4(four.Addr), port), true
	case name.Family == unix.AF_INET6 && size >= unix.SizeofSockaddrInet6:
		return netip.AddrPortFrom(netip.AddrFrom16(name.Addr), port), true
	}
	return netip.AddrPort{}, false
}
