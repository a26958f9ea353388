//! Longest-prefix match (A13) beside a tree bitmap.

use std::hint::black_box;
use std::net::Ipv4Addr;

use everbloom::internals::hash::Generator;
use everbloom_lab::applications::forwarding::longest_prefix::LongestPrefix;
use ip_network::Ipv4Network;
use ip_network_table::IpNetworkTable;

use crate::{medians, weighed};

const ROUTES: u64 = 500_000;
const ASKED: usize = 1_000_000;
const BITS: f64 = 12.0;

pub fn compare() {
    let mut random = Generator::new(13);
    // Lengths as in tables of the Internet: more than half are /24, most others /16 to /23.
    let routes: Vec<(Ipv4Addr, u8, u32)> = (0..ROUTES)
        .map(|hop| {
            let length = match random.below(100) {
                0..60 => 24,
                60..95 => 16 + random.below(8) as u8,
                _ => 8 + random.below(8) as u8,
            };
            let mask = u32::MAX << (32 - u32::from(length));
            (Ipv4Addr::from(random.next_u64() as u32 & mask), length, hop as u32)
        })
        .collect();
    let (ours, our_bytes) = weighed(|| LongestPrefix::new(routes.clone(), BITS).expect("routes"));
    let (theirs, their_bytes) = weighed(|| {
        let mut table = IpNetworkTable::new();
        for (address, length, hop) in &routes {
            table.insert(Ipv4Network::new(*address, *length).expect("a network"), *hop);
        }
        table
    });
    // Half of the addresses are inside of a route.
    let asked: Vec<Ipv4Addr> = (0..ASKED)
        .map(|i| {
            let word = random.next_u64() as u32;
            if i % 2 == 0 {
                return Ipv4Addr::from(word);
            }
            let (address, length, _) = routes[random.below(ROUTES) as usize];
            Ipv4Addr::from(u32::from(address) | word & !(u32::MAX << (32 - u32::from(length))))
        })
        .collect();
    let theirs_of = |address| theirs.longest_match_ipv4(address).map(|(_, hop)| hop);
    assert!(asked.iter().all(|address| ours.next_hop(*address) == theirs_of(*address)));
    let [our_time, their_time] = medians(
        9,
        [&mut || asked.iter().for_each(|a| _ = black_box(ours.next_hop(*a))), &mut || {
            asked.iter().for_each(|a| _ = black_box(theirs_of(*a)))
        }],
    );
    let each = |seconds: f64| seconds * 1e9 / ASKED as f64;
    println!("longest prefix of {ROUTES} routes, {ASKED} addresses");
    let filters = ours.filter_bits() / 8;
    println!(
        "  everbloom            {:7.1} ns a look-up, {our_bytes} bytes, of which filters {filters}",
        each(our_time)
    );
    println!("  ip_network_table     {:7.1} ns a look-up, {their_bytes} bytes", each(their_time));
}
