//! Packets of a capture file (pcap or pcapng): flows, lengths and payloads, for the tools that read one.
//!
//! Containers are read by `pcap-parser`, headers by `etherparse`: Ethernet (with VLAN tags), Linux "any" captures
//! and bare IP. A packet whose headers say no more than their addresses has ports 0; one without IP has no flow.

use std::fmt;
use std::io::{Cursor, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use etherparse::{EtherType, LaxNetSlice, LaxSlicedPacket, PacketBuilder, TransportSlice};
use everbloom::{Error, Kind, Result};
use pcap_parser::traits::PcapNGPacketBlock;
use pcap_parser::{Block, Linktype, PcapBlockOwned, PcapError, create_reader};

/// Who sends to whom, by which protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Flow {
    /// The sender's address and port.
    pub from: (IpAddr, u16),
    /// The receiver's.
    pub to: (IpAddr, u16),
    /// The number of the protocol, such as 6 for TCP.
    pub protocol: u8,
}

impl Flow {
    /// The flow as a key: 13 bytes with IPv4, 37 with IPv6.
    ///
    /// ```
    /// use everbloom_tools::capture::Flow;
    /// let flow = Flow { from: ([10, 0, 0, 1].into(), 4000), to: ([10, 0, 0, 2].into(), 80), protocol: 6 };
    /// assert_eq!(flow.key().len(), 13);
    /// assert_eq!(Flow::from_key(&flow.key()), Some(flow));
    /// assert_eq!(flow.to_string(), "10.0.0.1:4000 > 10.0.0.2:80 tcp");
    /// ```
    pub fn key(&self) -> Vec<u8> {
        let mut key = Vec::with_capacity(37);
        for (address, port) in [self.from, self.to] {
            match address {
                IpAddr::V4(v4) => key.extend(v4.octets()),
                IpAddr::V6(v6) => key.extend(v6.octets()),
            }
            key.extend(port.to_be_bytes());
        }
        key.push(self.protocol);
        key
    }

    /// The flow of a key; none if it is no flow's.
    pub fn from_key(key: &[u8]) -> Option<Self> {
        let (&protocol, ends) = key.split_last()?;
        let end = |bytes: &[u8]| -> Option<(IpAddr, u16)> {
            let (address, port) = bytes.split_at_checked(bytes.len().checked_sub(2)?)?;
            let address = match address.len() {
                4 => <[u8; 4]>::try_from(address).map(IpAddr::from).ok()?,
                _ => <[u8; 16]>::try_from(address).map(IpAddr::from).ok()?,
            };
            Some((address, u16::from_be_bytes([port[0], port[1]])))
        };
        let (from, to) = ends.split_at(ends.len() / 2);
        (from.len() == to.len()).then_some(())?;
        Some(Self { from: end(from)?, to: end(to)?, protocol })
    }
}

impl fmt::Display for Flow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = |(address, port): (IpAddr, u16)| match (address, port) {
            (_, 0) => address.to_string(),
            (IpAddr::V4(_), _) => format!("{address}:{port}"),
            (IpAddr::V6(_), _) => format!("[{address}]:{port}"),
        };
        write!(f, "{} > {} ", end(self.from), end(self.to))?;
        match self.protocol {
            1 => f.write_str("icmp"),
            6 => f.write_str("tcp"),
            17 => f.write_str("udp"),
            58 => f.write_str("icmpv6"),
            other => write!(f, "protocol {other}"),
        }
    }
}

/// A packet of a capture.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    /// When it was captured, in seconds since 1970.
    pub seconds: u64,
    /// Its length on the wire, in bytes: more than was captured where the capture cut it off.
    pub length: u64,
    /// Its flow; none without IP.
    pub flow: Option<Flow>,
    /// What TCP or UDP carries, as far as it was captured.
    pub payload: &'a [u8],
}

/// The most bytes that a block of the file may have: far more than any network's packet.
const LONGEST: usize = 1 << 24;
const BUFFER: usize = 1 << 16;

/// Calls `f` with every packet of a capture.
///
/// ```
/// use everbloom_tools::capture::{self, Flow};
///
/// let flow = Flow { from: ([10, 0, 0, 1].into(), 4000), to: ([10, 0, 0, 2].into(), 80), protocol: 6 };
/// let mut file = capture::Writer::new(Vec::new())?;
/// file.packet(1, &flow, b"GET / HTTP/1.1")?;
/// let mut seen = Vec::new();
/// capture::each_packet(&file.finish()[..], |packet| {
///     seen.push((packet.seconds, packet.flow, packet.payload.to_vec()));
///     Ok(())
/// })?;
/// assert_eq!(seen, [(1, Some(flow), b"GET / HTTP/1.1".to_vec())]);
/// # Ok::<(), everbloom::Error>(())
/// ```
pub fn each_packet(
    mut input: impl Read + Send,
    mut f: impl FnMut(Packet<'_>) -> Result<()>,
) -> Result<()> {
    // The reader looks at what its first reading brings, which from a pipe may be a few bytes.
    let mut start = Vec::new();
    input.by_ref().take(BUFFER as u64).read_to_end(&mut start)?;
    let mut reader =
        create_reader(BUFFER, Cursor::new(start).chain(input)).map_err(|e| unreadable(&e))?;
    let mut links: Vec<(Linktype, u64)> = Vec::new();
    loop {
        match reader.next() {
            Ok((length, block)) => {
                one_block(block, &mut links, &mut f)?;
                reader.consume(length);
            }
            Err(PcapError::Eof) => return Ok(()),
            Err(PcapError::Incomplete(_)) => {
                reader.refill().map_err(|e| unreadable(&e))?;
            }
            Err(PcapError::BufferTooSmall) => {
                let grown = reader.data().len().max(BUFFER) * 2;
                if grown > LONGEST || !reader.grow(grown) {
                    return Err(Error::new(Kind::BadRecord, "a packet of more than 16 MiB"));
                }
            }
            Err(e) => return Err(unreadable(&e)),
        }
    }
}

fn unreadable<I>(e: &PcapError<I>) -> Error {
    let (kind, message) = match e {
        PcapError::HeaderNotRecognized | PcapError::NomError(..) | PcapError::OwnedNomError(..) => {
            (Kind::NotOurs, "neither pcap nor pcapng: write it with tcpdump -w, or drop --pcap")
        }
        PcapError::ReadError => (Kind::Io, "the capture cannot be read"),
        _ => (Kind::Truncated, "the capture ends in the middle of a packet"),
    };
    Error::new(kind, message)
}

/// Takes a block of the file: a header changes `links`, a packet goes to `f`.
fn one_block(
    block: PcapBlockOwned<'_>,
    links: &mut Vec<(Linktype, u64)>,
    f: &mut impl FnMut(Packet<'_>) -> Result<()>,
) -> Result<()> {
    match block {
        PcapBlockOwned::LegacyHeader(header) => *links = vec![(header.network, 1)],
        PcapBlockOwned::Legacy(packet) => {
            let link = links.first().map_or(Linktype::ETHERNET, |(link, _)| *link);
            f(parsed(link, packet.ts_sec.into(), packet.origlen, packet.data))?;
        }
        PcapBlockOwned::NG(Block::SectionHeader(_)) => links.clear(),
        PcapBlockOwned::NG(Block::InterfaceDescription(interface)) => {
            links.push((interface.linktype, interface.ts_resolution().unwrap_or(1_000_000)));
        }
        PcapBlockOwned::NG(Block::EnhancedPacket(packet)) => {
            let Some((link, ticks)) = links.get(packet.if_id as usize) else {
                let message = "a packet of an interface that the capture does not describe";
                return Err(Error::new(Kind::BadRecord, message));
            };
            let time = u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low);
            f(parsed(*link, time / (*ticks).max(1), packet.origlen, packet.packet_data()))?;
        }
        PcapBlockOwned::NG(Block::SimplePacket(packet)) => {
            let link = links.first().map_or(Linktype::ETHERNET, |(link, _)| *link);
            f(parsed(link, 0, packet.origlen, packet.packet_data()))?;
        }
        PcapBlockOwned::NG(_) => {}
    }
    Ok(())
}

/// The headers of a packet, as far as they can be read.
fn parsed(link: Linktype, seconds: u64, length: u32, data: &[u8]) -> Packet<'_> {
    let headers = match link {
        Linktype::ETHERNET => LaxSlicedPacket::from_ethernet(data).ok(),
        // 16 bytes of "cooked" header, the last two of them the type of what follows.
        Linktype::LINUX_SLL => data.split_at_checked(16).map(|(header, rest)| {
            let kind = u16::from_be_bytes([header[14], header[15]]);
            LaxSlicedPacket::from_ether_type(EtherType(kind), rest)
        }),
        // BSD loopback: 4 bytes of address family.
        Linktype::NULL => data.get(4..).and_then(|rest| LaxSlicedPacket::from_ip(rest).ok()),
        Linktype::RAW | Linktype::IPV4 | Linktype::IPV6 => LaxSlicedPacket::from_ip(data).ok(),
        _ => None,
    };
    let none = Packet { seconds, length: length.into(), flow: None, payload: &[] };
    let Some(headers) = headers else { return none };
    let (from, to, protocol, rest) = match &headers.net {
        Some(LaxNetSlice::Ipv4(ip)) => {
            let header = ip.header();
            let payload = ip.payload();
            let ends = (header.source_addr(), header.destination_addr());
            (IpAddr::V4(ends.0), IpAddr::V4(ends.1), payload.ip_number.0, payload.payload)
        }
        Some(LaxNetSlice::Ipv6(ip)) => {
            let header = ip.header();
            let payload = ip.payload();
            let ends = (header.source_addr(), header.destination_addr());
            (IpAddr::V6(ends.0), IpAddr::V6(ends.1), payload.ip_number.0, payload.payload)
        }
        _ => return none,
    };
    let (ports, payload) = match &headers.transport {
        Some(TransportSlice::Tcp(tcp)) => {
            ((tcp.source_port(), tcp.destination_port()), tcp.payload())
        }
        Some(TransportSlice::Udp(udp)) => {
            ((udp.source_port(), udp.destination_port()), udp.payload())
        }
        _ => ((0, 0), rest),
    };
    let flow = Flow { from: (from, ports.0), to: (to, ports.1), protocol };
    Packet { flow: Some(flow), payload, ..none }
}

/// Writes a capture: what tests and simulations make up.
pub struct Writer<W> {
    out: W,
}

impl<W: Write> Writer<W> {
    /// A capture of Ethernet frames, in pcap's first format.
    pub fn new(mut out: W) -> Result<Self> {
        let mut header = Vec::new();
        header.extend(0xa1b2_c3d4_u32.to_le_bytes());
        header.extend([2, 0, 4, 0]);
        header.extend([0; 8]);
        header.extend((LONGEST as u32).to_le_bytes());
        header.extend(1u32.to_le_bytes());
        out.write_all(&header)?;
        Ok(Self { out })
    }

    /// A packet of TCP, or of UDP where the flow says 17.
    pub fn packet(&mut self, seconds: u32, flow: &Flow, payload: &[u8]) -> Result<()> {
        let link = PacketBuilder::ethernet2([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]);
        let ip = match (flow.from.0, flow.to.0) {
            (IpAddr::V4(from), IpAddr::V4(to)) => link.ipv4(from.octets(), to.octets(), 64),
            (from, to) => link.ipv6(wide(from), wide(to), 64),
        };
        let mut frame = Vec::new();
        let built = if flow.protocol == 17 {
            ip.udp(flow.from.1, flow.to.1).write_to_vec(&mut frame, payload).is_ok()
        } else {
            ip.tcp(flow.from.1, flow.to.1, 0, 1024).write_to_vec(&mut frame, payload).is_ok()
        };
        if !built {
            return Err(Error::new(Kind::BadRecord, "a payload too long for a packet"));
        }
        let length = (frame.len() as u32).to_le_bytes();
        for word in [seconds.to_le_bytes(), [0; 4], length, length] {
            self.out.write_all(&word)?;
        }
        Ok(self.out.write_all(&frame)?)
    }

    /// What was written to.
    pub fn finish(self) -> W {
        self.out
    }
}

fn wide(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(v4) => Ipv4Addr::to_ipv6_mapped(&v4).octets(),
        IpAddr::V6(v6) => Ipv6Addr::octets(&v6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(text: [&str; 2], ports: (u16, u16), protocol: u8) -> Flow {
        let [from, to] = text.map(|text| text.parse().unwrap());
        Flow { from: (from, ports.0), to: (to, ports.1), protocol }
    }

    #[test]
    fn both_versions_and_protocols_are_read_back() {
        let flows = [
            flow(["10.0.0.1", "10.0.0.2"], (1, 2), 6),
            flow(["10.0.0.1", "10.0.0.2"], (1, 2), 17),
            flow(["2001:db8::1", "2001:db8::2"], (3, 4), 6),
        ];
        let mut file = Writer::new(Vec::new()).unwrap();
        for (i, flow) in flows.iter().enumerate() {
            file.packet(i as u32, flow, &vec![7; 1000 * i]).unwrap();
        }
        let file = file.finish();
        let mut seen = Vec::new();
        each_packet(&file[..], |packet| {
            assert!(packet.length > packet.payload.len() as u64 + 20);
            seen.push((packet.seconds as usize, packet.flow.unwrap(), packet.payload.len()));
            Ok(())
        })
        .unwrap();
        let expected: Vec<_> = flows.iter().enumerate().map(|(i, f)| (i, *f, 1000 * i)).collect();
        assert_eq!(seen, expected);
        let names: Vec<String> = flows.iter().map(Flow::to_string).collect();
        assert_eq!(names[2], "[2001:db8::1]:3 > [2001:db8::2]:4 tcp");
        assert!(flows.iter().all(|flow| Flow::from_key(&flow.key()) == Some(*flow)));
        assert_eq!(Flow::from_key(b"ab"), None);
        assert_eq!(Flow::from_key(b""), None);
    }

    #[test]
    fn what_is_no_capture_or_is_cut_off_says_so() {
        let read = |bytes: &[u8]| each_packet(bytes, |_| Ok(())).map_err(|e| e.kind());
        assert_eq!(read(b"GET / HTTP/1.1\r\nHost: example.org\r\n\r\n"), Err(Kind::NotOurs));
        let mut file = Writer::new(Vec::new()).unwrap();
        file.packet(0, &flow(["10.0.0.1", "10.0.0.2"], (1, 2), 6), b"hello").unwrap();
        let file = file.finish();
        assert_eq!(read(&file), Ok(()));
        struct Drops<'a>(&'a [u8]);
        impl Read for Drops<'_> {
            fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
                let count = out.len().min(3);
                self.0.read(&mut out[..count])
            }
        }
        assert_eq!(each_packet(Drops(&file), |_| Ok(())).map_err(|e| e.kind()), Ok(()));
        assert_eq!(read(&file[..file.len() - 1]), Err(Kind::Truncated));
        assert!(read(b"").is_err());
    }
}
